import { accountOfOutsideName, isDnsDomain } from '../../identity/index.js'
import { formatObjectRef } from '../../problem.js'
import { objectRef, type KindMap } from '../objects.js'
import { canonicalHost } from '../names.js'
import { doubt, fault, findings, pendingFault, refused, type CheckContext, type Finding } from './check.js'

/** Annotation of namespaces and pods that decides about sidecars. */
const INJECTION = 'openservicemesh.io/sidecar-injection'

/** Field of the MeshConfig that requests the certificate of the ingress gateway. */
export const gatewayCertificateField = 'spec.certificate.ingressGateway'

/** AccessCerts for names that their clients must not have: those of the mesh, of its ingress gateway, and of callers whom other namespaces trust. */
export function checkAccessCert(
  { metadata: { namespace }, spec }: KindMap['AccessCert'],
  context: CheckContext,
): readonly Finding[] {
  const gateway = new Set(context.gatewayNames().map(canonicalHost))
  return spec.subjectAltNames.flatMap((name, index) => {
    const field = `spec.subjectAltNames[${index}]`
    const ofGateway =
      gateway.has(canonicalHost(name)) &&
      fault('OSM_SPEC_CERT_NAME', field, 'is a name of the ingress gateway; only the MeshConfig can request it')
    return findings(
      foreignName(name, field, { context, asker: namespace }),
      ofGateway,
      trustedElsewhere({ name, namespace }, field, context),
    )
  })
}

/** One finding for each object of another namespace that lets in callers of that name, and does not permit the certificate. */
function trustedElsewhere(
  { name, namespace }: { readonly name: string; readonly namespace: string },
  field: string,
  context: CheckContext,
): readonly Finding[] {
  const from = { kind: 'AccessCert', namespace } as const
  return context.claims.trusting(name).flatMap(({ kind, metadata }) => {
    const to = { kind, namespace: metadata.namespace, name: metadata.name }
    const effect = `no certificate is issued for ${name}, whose callers it lets in`
    return findings(refused({ from, to }, { field, effect }, context))
  })
}

/** Ingress gateway certificates for names that a client outside the mesh must not have. */
export function checkGatewayCertificate({ spec }: KindMap['MeshConfig'], context: CheckContext): readonly Finding[] {
  const names = spec.certificate?.ingressGateway?.subjectAltNames ?? []
  return names.flatMap((name, index) =>
    findings(
      foreignName(name, `${gatewayCertificateField}.subjectAltNames[${index}]`, {
        context,
        asker: context.consent.osmNamespace,
      }),
    ),
  )
}

/** A name that would let its bearer pass for a service or workload of the mesh, or for an account of another tenant. */
function foreignName(
  name: string,
  field: string,
  { context, asker }: { readonly context: CheckContext; readonly asker: string },
): Finding | undefined {
  const { clusterDomain, trustDomain, consent } = context
  const lower = canonicalHost(name)
  if (lower.includes('*')) return fault('OSM_SPEC_CERT_NAME', field, 'must not contain a wildcard')
  if (!isDnsDomain(lower)) return fault('OSM_SPEC_HOST', field, `${JSON.stringify(name)} is not a host name`)
  const domain = [trustDomain, clusterDomain].find((it) => lower === it || lower.endsWith(`.${it}`))
  if (domain === undefined) return undefined
  const account = accountOfOutsideName(lower, { trustDomain, clusterDomain })
  if (account === undefined)
    return fault(
      'OSM_SPEC_CERT_NAME',
      field,
      `is below ${domain}, which is reserved for services and workloads of the mesh; choose another name`,
    )
  if (asker !== consent.osmNamespace && asker !== account.namespace)
    return fault(
      'OSM_SPEC_CERT_NAME',
      field,
      `is the identity of service account ${account.namespace}/${account.name}, which only namespace ${account.namespace} and that of the control plane may request`,
    )
  const reason = whyInMesh(account, context)
  return reason === undefined
    ? undefined
    : pendingFault(
        'OSM_SPEC_CERT_NAME',
        field,
        `is the identity of service account ${account.namespace}/${account.name}, ${reason}; choose a name outside ${domain}`,
      )
}

/** Why a workload of the mesh has the identity of the account, or may get it; undefined if none can. */
function whyInMesh(
  account: { readonly namespace: string; readonly name: string },
  { snapshot, claims, consent }: CheckContext,
): string | undefined {
  const { namespace } = account
  const target = claims.granting(account)
  if (target !== undefined) return `which ${formatObjectRef(objectRef(target))} names`
  if (snapshot.instancesOfIdentity(account).length > 0 || snapshot.workloadsOfIdentity(account).length > 0)
    return 'which workloads of the mesh have'
  // No pod there ever gets a sidecar.
  if (namespace === consent.osmNamespace) return undefined
  const enrolled = snapshot.get('Namespace', '', namespace)
  if (enrolled === undefined)
    return snapshot.byNamespace('ServiceAccount', namespace).length > 0 ||
      snapshot.byNamespace('Workload', namespace).length > 0
      ? 'whose namespace belongs to the mesh'
      : undefined
  const injection = enrolled.metadata.annotations[INJECTION]?.toLowerCase()
  return injection === undefined || ['disabled', 'no', 'false'].includes(injection)
    ? undefined
    : 'whose namespace gets sidecars'
}

/** MeshRootCertificates that do not say who issues, or say it where no one reads them. */
export function checkMeshRootCertificate(
  { spec }: KindMap['MeshRootCertificate'],
  { trustDomain, readsRootCertificates }: CheckContext,
): readonly Finding[] {
  const given = Object.keys(spec.provider)
  const { vault, certManager } = spec.provider
  const login = vault !== undefined ? vaultLogin(vault) : certManager !== undefined && ownIssuer(certManager)
  return findings(
    given.length !== 1 &&
      fault(
        'OSM_SPEC_PROVIDER',
        'spec.provider',
        `must have exactly one of tresor, vault and certManager, not ${given.join(' and ') || 'none'}`,
      ),
    login,
    given.length === 1 &&
      login === false &&
      !readsRootCertificates &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec',
        'has no effect: the flags of the programs select the provider; osm.certificateProvider of the chart sets them',
      ),
    readsRootCertificates &&
      spec.trustDomain !== trustDomain &&
      fault(
        'OSM_SPEC_TRUST_DOMAIN',
        'spec.trustDomain',
        `must be ${trustDomain}, that of the mesh, got ${JSON.stringify(spec.trustDomain)}`,
      ),
  )
}

/** A kind that cert-manager itself does not have. */
function ownIssuer({
  issuerKind,
  issuerGroup,
}: NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['certManager']>): Finding | false {
  return (
    issuerGroup === 'cert-manager.io' &&
    !['Issuer', 'ClusterIssuer'].includes(issuerKind) &&
    fault(
      'OSM_SPEC_PROVIDER',
      'spec.provider.certManager.issuerKind',
      `must be Issuer or ClusterIssuer for group cert-manager.io, not ${JSON.stringify(issuerKind)}`,
    )
  )
}

/** A login that lacks what it needs. */
function vaultLogin({
  auth,
  token,
}: NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['vault']>): Finding | false {
  const kind = auth?.kind ?? 'token'
  if ((kind === 'token' || kind === 'appRole') && token === undefined)
    return fault('OSM_SPEC_PROVIDER', 'spec.provider.vault.token', `is missing: a login of kind ${kind} requires it`)
  if ((kind === 'kubernetes' || kind === 'appRole') && auth?.role === undefined)
    return fault(
      'OSM_SPEC_PROVIDER',
      'spec.provider.vault.auth.role',
      `is missing: a login of kind ${kind} requires it`,
    )
  return (
    kind === 'tokenFile' &&
    auth?.tokenFile === undefined &&
    fault(
      'OSM_SPEC_PROVIDER',
      'spec.provider.vault.auth.tokenFile',
      'is missing: a login of kind tokenFile requires it',
    )
  )
}
