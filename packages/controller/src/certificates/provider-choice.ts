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

/**
 * The choice of the MeshRootCertificate of the control plane's namespace that is active; the built-in authority if there is none.
 *
 * @param caFile - file with the roots of Vault's own certificate, where the object holds none
 * @throws OsmError with code `OSM_CERT_PROVIDER_SETTINGS` if it names no provider that there is
 */
export function choiceOfObjects(snapshot: Snapshot | undefined, osmNamespace: string, caFile = ''): ProviderChoice {
  const objects = snapshot?.byNamespace('MeshRootCertificate', osmNamespace) ?? []
  const active =
    objects.find(({ spec }) => spec.role === 'active') ?? objects.find(({ spec }) => spec.role === undefined)
  if (active === undefined) return { kind: 'tresor' }
  const { tresor, vault, certManager } = active.spec.provider
  const name = formatObjectRef(objectRef(active))
  if ([tresor, vault, certManager].filter((each) => each !== undefined).length !== 1)
    throw settings(`${name}: spec.provider must have exactly one of tresor, vault and certManager`)
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
