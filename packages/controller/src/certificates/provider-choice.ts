import {
  type CertificateErrorCode,
  formatObjectRef,
  type KindMap,
  objectRef,
  type Snapshot,
  type SpecErrorCode,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import type { ControllerFlags } from '../controller-flags.js'
import { isSigning, mayIssue, type RootRecords } from './root-record.js'

/** How to reach Vault and to log in. */
export type VaultSpec = NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['vault']>

/** Which issuer cert-manager is asked for, and which roots it may sign under. */
export type CertManagerSpec = NonNullable<KindMap['MeshRootCertificate']['spec']['provider']['certManager']>

/** Who issues certificates of workloads. */
export type ProviderChoice =
  | { readonly kind: 'tresor'; readonly secretRef?: { readonly name: string; readonly namespace: string } }
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
  /** The MeshRootCertificates that choose them, in the same order; absent where flags do, or the active one is a default. */
  readonly names?: { readonly active: string | undefined; readonly passive: readonly string[] }
}

/** Where and how MeshRootCertificates are read. */
export interface RootObjectsOptions {
  readonly osmNamespace: string
  /** Of the mesh: identities contain it, so that it cannot change while the mesh runs. */
  readonly trustDomain: string
  /** File with the roots of Vault's own certificate, where the object holds none. */
  readonly caFile?: string
  /** Secret of the built-in authority. */
  readonly builtInSecret?: string
  /** True for a controller that starts: an active one of another trust domain signs for this one until there is another choice. */
  readonly isStart?: boolean
}

/** Providers beside the one that signs: peers read all roots for each connection. */
const MAX_PASSIVE = 3
const BUILT_IN_SECRET = 'osm-ca-bundle'

/**
 * The choices of the MeshRootCertificates of the control plane's namespace; the built-in authority signs if none is active. A passive one of another trust domain is left
 * out: its root must not vouch for identities of this one.
 *
 * @throws OsmError with code `OSM_CERT_PROVIDER_SETTINGS` if one names no provider that there is, or too many take part; `OSM_SPEC_TRUST_DOMAIN` if the active one is of
 * another trust domain
 */
export function choicesOfObjects(snapshot: Snapshot | undefined, options: RootObjectsOptions): ProviderChoices {
  const objects = snapshot?.byNamespace('MeshRootCertificate', options.osmNamespace) ?? []
  const isActive = ({ spec: { role = 'active' } }: Root): boolean => role === 'active'
  const active = objects.find(({ spec }) => spec.role === 'active') ?? objects.find(isActive)
  const passive = objects.filter(({ spec }) => spec.role === 'passive' && spec.trustDomain === options.trustDomain)
  const others = objects.filter((object) => isActive(object) && object !== active)
  if (others.length > 0)
    throw settings(
      `${[active, ...others].map((each) => each && nameOf(each)).join(' and ')}: one signs, so that one must be active; set spec.role of the others to passive`,
    )
  if (passive.length > MAX_PASSIVE)
    throw settings(`${passive.map(nameOf).join(', ')}: at most ${MAX_PASSIVE} may be passive; delete those without use`)
  if (active !== undefined && active.spec.trustDomain !== options.trustDomain && options.isStart !== true)
    throw new OsmError<SpecErrorCode>(
      'OSM_SPEC_TRUST_DOMAIN',
      `${nameOf(active)}: spec.trustDomain: must be ${options.trustDomain}, that of the mesh, got ${JSON.stringify(active.spec.trustDomain)}`,
    )
  return {
    active: active === undefined ? { kind: 'tresor' } : choiceOf(active, options),
    passive: passive.map((object) => choiceOf(object, options)),
    names: { active: active?.metadata.name, passive: passive.map(({ metadata }) => metadata.name) },
  }
}

/** The choice of the one that the leader lets sign, whatever else is wrong; undefined if it lets none. */
export function signingChoice(
  snapshot: Snapshot | undefined,
  options: RootObjectsOptions,
  records: RootRecords,
): ProviderChoices | undefined {
  const objects = snapshot?.byNamespace('MeshRootCertificate', options.osmNamespace) ?? []
  const signing = objects.find(({ metadata }) => isSigning(records(metadata.name)))
  return (
    signing && {
      active: choiceOf(signing, options),
      passive: [],
      names: { active: signing.metadata.name, passive: [] },
    }
  )
}

/**
 * The choices that a controller starts with: while the leader has not let the active one sign, the one that it let sign before goes on, on every replica and after every
 * restart.
 */
export function resumedChoices(choices: ProviderChoices, records: RootRecords): ProviderChoices {
  const { active, passive, names } = choices
  if (names?.active === undefined || mayIssue(records(names.active))) return choices
  const signing = names.passive.findIndex((name) => isSigning(records(name)))
  const [choice, name] = [passive[signing], names.passive[signing]]
  if (choice === undefined) return choices
  return {
    active: choice,
    passive: [active, ...passive.filter((each) => each !== choice)],
    names: { active: name, passive: [names.active, ...names.passive.filter((each) => each !== name)] },
  }
}

type Root = KindMap['MeshRootCertificate']

function nameOf(root: Root): string {
  return formatObjectRef(objectRef(root))
}

function choiceOf(
  root: Root,
  { caFile = '', builtInSecret = BUILT_IN_SECRET, osmNamespace }: RootObjectsOptions,
): ProviderChoice {
  const { tresor, vault, certManager } = root.spec.provider
  if ([tresor, vault, certManager].filter((each) => each !== undefined).length !== 1)
    throw settings(`${nameOf(root)}: spec.provider must have exactly one of tresor, vault and certManager`)
  if (certManager !== undefined) return { kind: 'cert-manager', certManager }
  if (vault !== undefined) return { kind: 'vault', vault, ...given('caFile', caFile) }
  const { name = builtInSecret, namespace = osmNamespace } = tresor?.ca.secretRef ?? {}
  return name === builtInSecret ? { kind: 'tresor' } : { kind: 'tresor', secretRef: { name, namespace } }
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
