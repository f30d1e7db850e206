import { type CertificateErrorCode, formatObjectRef, type KindMap, objectRef, type Snapshot } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import type { ControllerFlags } from '../controller-flags.js'

/** How to reach Vault and to log in. */
export type VaultSpec = NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['vault']>

/** Which issuer cert-manager is asked for, and which roots it may sign under. */
export type CertManagerSpec = NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['certManager']>

/** Who issues certificates of workloads. */
export type ProviderChoice =
  | { readonly kind: 'tresor' }
  | { readonly kind: 'vault'; readonly vault: VaultSpec; readonly caFile?: string; readonly token?: string }
  | { readonly kind: 'cert-manager'; readonly certManager: CertManagerSpec }

/** The choice of the flags, which have been checked. */
export function choiceOfFlags(flags: ControllerFlags): ProviderChoice {
  if (flags.certificateManager === 'cert-manager') return { kind: 'cert-manager', certManager: certManagerOf(flags) }
  if (flags.certificateManager !== 'vault') return { kind: 'tresor' }
  const { osmNamespace, vaultTokenSecretName: name, vaultTokenSecretKey: key } = flags
  return {
    kind: 'vault',
    vault: {
      host: flags.vaultHost,
      port: flags.vaultPort,
      protocol: flags.vaultProtocol,
      role: flags.vaultRole,
      mount: flags.vaultMount,
      ...given('namespace', flags.vaultNamespace),
      auth: {
        kind: flags.vaultAuth,
        ...given('mount', flags.vaultAuthMount),
        ...given('role', flags.vaultAuthRole),
        ...given('tokenFile', flags.vaultTokenFile),
      },
      ...(name === '' ? {} : { token: { secretKeyRef: { name, namespace: osmNamespace, key } } }),
    },
    ...given('caFile', flags.vaultCaFile),
    ...given('token', flags.vaultToken),
  }
}

/** Who signs, and who else is trusted: has signed before, or is to sign next. */
export interface ProviderChoices {
  readonly active: ProviderChoice
  readonly passive: readonly ProviderChoice[]
}

/** Providers beside the one that signs: peers read all roots for each connection. */
const MAX_PASSIVE = 3

/**
 * The choices of the MeshRootCertificates of the control plane's namespace; the built-in authority signs if none is active.
 *
 * @param caFile - file with the roots of Vault's own certificate, where the object holds none
 * @throws OsmError with code `OSM_CERT_PROVIDER_SETTINGS` if one names no provider that there is, or too many take part
 */
export function choicesOfObjects(snapshot: Snapshot | undefined, osmNamespace: string, caFile = ''): ProviderChoices {
  const objects = snapshot?.byNamespace('MeshRootCertificate', osmNamespace) ?? []
  const isActive = ({ spec: { role = 'active' } }: Root): boolean => role === 'active'
  const active = objects.find(({ spec }) => spec.role === 'active') ?? objects.find(isActive)
  const passive = objects.filter(({ spec }) => spec.role === 'passive')
  const others = objects.filter((object) => isActive(object) && object !== active)
  if (others.length > 0)
    throw settings(
      `${[active, ...others].map((each) => each && nameOf(each)).join(' and ')}: one signs, so that one must be active; set spec.role of the others to passive`,
    )
  if (passive.length > MAX_PASSIVE)
    throw settings(`${passive.map(nameOf).join(', ')}: at most ${MAX_PASSIVE} may be passive; delete those without use`)
  return {
    active: active === undefined ? { kind: 'tresor' } : choiceOf(active, caFile),
    passive: passive.map((object) => choiceOf(object, caFile)),
  }
}

type Root = KindMap['MeshRootCertificate']

function nameOf(root: Root): string {
  return formatObjectRef(objectRef(root))
}

function choiceOf(root: Root, caFile: string): ProviderChoice {
  const { tresor, vault, certManager } = root.spec.provider
  if ([tresor, vault, certManager].filter((each) => each !== undefined).length !== 1)
    throw settings(`${nameOf(root)}: spec.provider must have exactly one of tresor, vault and certManager`)
  if (certManager !== undefined) return { kind: 'cert-manager', certManager }
  return vault === undefined ? { kind: 'tresor' } : { kind: 'vault', vault, ...given('caFile', caFile) }
}

function certManagerOf(flags: ControllerFlags): CertManagerSpec {
  const { osmNamespace: namespace, certManagerCaSecretName: name } = flags
  return {
    issuerName: flags.certManagerIssuerName,
    issuerKind: flags.certManagerIssuerKind,
    issuerGroup: flags.certManagerIssuerGroup,
    ...(name === '' ? {} : { ca: { secretRef: { name, namespace } } }),
  }
}

function given<K extends string>(name: K, value: string): { readonly [key in K]?: string } {
  return (value === '' ? {} : { [name]: value }) as { readonly [key in K]?: string } // that key or none
}

function settings(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_SETTINGS', message)
}
