import type { GatewayRouteKind } from './objects.js'
import { kindDefinitions, writtenKind, type Kind } from './schema/kinds.js'
import type { ReferenceGrantSpec } from './schema/reference-grant.js'

/** Kinds whose objects can change what workloads of other namespaces get. Those of the mesh itself have a switch in the MeshConfig. */
export type CrossNamespaceKind =
  'Egress' | 'EgressGateway' | 'AccessCert' | 'PluginConfig' | 'PluginChain' | GatewayRouteKind

/**
 * Kinds that are read in the namespace of the control plane although it takes no part in the mesh: those that concern every namespace from there, with
 * what they refer to.
 */
const readInControlPlane: ReadonlySet<Kind> = new Set<Kind>([
  'AccessCert',
  'Egress',
  'EgressGateway',
  'HTTPRouteGroup',
  'PluginChain',
  'PluginConfig',
  'UpstreamTrafficSetting',
])

/** True for kinds whose objects count in the namespace of the control plane. */
export function isReadInControlPlane(kind: Kind): boolean {
  return readInControlPlane.has(kind)
}

/** Kinds for which namespaces need no consent of others, by the `spec.traffic.crossNamespace` of the MeshConfig. */
export interface CrossNamespaceConfig {
  readonly egress: boolean
  readonly egressGateway: boolean
  readonly accessCert: boolean
  readonly pluginConfig: boolean
  readonly pluginChain: boolean
}

/** The consent of other namespaces is needed for all kinds. */
export const consentNeeded: CrossNamespaceConfig = Object.freeze({
  egress: false,
  egressGateway: false,
  accessCert: false,
  pluginConfig: false,
  pluginChain: false,
})

/** The switch of each kind. */
const switches: Readonly<Partial<Record<CrossNamespaceKind, keyof CrossNamespaceConfig>>> = {
  Egress: 'egress',
  EgressGateway: 'egressGateway',
  AccessCert: 'accessCert',
  PluginConfig: 'pluginConfig',
  PluginChain: 'pluginChain',
}

/** A reference of an object to another one. */
export interface CrossReference {
  readonly from: { readonly kind: CrossNamespaceKind; readonly namespace: string }
  readonly to: { readonly kind: Kind; readonly namespace: string; readonly name: string }
}

/** What decides whether a reference counts. */
export interface ConsentRule {
  /** Namespace of the control plane, whose objects may refer to every namespace. */
  readonly osmNamespace: string
  readonly crossNamespace: CrossNamespaceConfig
  readonly grantsIn: (namespace: string, kind: GrantKind) => readonly ReferenceGrantSpec[]
}

/** Kinds that permit references: that of the mesh, for all references, and that of the Gateway API, for those of its own kinds. */
export type GrantKind = 'ReferenceGrant' | 'GatewayReferenceGrant'

/** True if what an object says counts in every namespace. */
export function isMeshWide(
  { kind, namespace }: CrossReference['from'],
  { osmNamespace, crossNamespace }: Omit<ConsentRule, 'grantsIn'>,
): boolean {
  const own = switches[kind]
  return namespace === osmNamespace || (own !== undefined && crossNamespace[own])
}

/** True for references within a namespace, from the namespace of the control plane, and those that the other namespace grants. */
export function isPermitted(reference: CrossReference, rule: ConsentRule): boolean {
  const { from, to } = reference
  if (from.namespace === to.namespace || isMeshWide(from, rule)) return true
  return grantKinds(from.kind).some((kind) =>
    rule.grantsIn(to.namespace, kind).some((grant) => covers(grant, reference)),
  )
}

function grantKinds(from: CrossNamespaceKind): readonly GrantKind[] {
  return isOfGateway(from) ? ['ReferenceGrant', 'GatewayReferenceGrant'] : ['ReferenceGrant']
}

/** True for kinds whose references the Gateway API's ReferenceGrant permits. */
export function isOfGateway(kind: Kind): boolean {
  return groupOf(kind) === groupOf('GatewayReferenceGrant')
}

function covers({ from, to }: ReferenceGrantSpec, reference: CrossReference): boolean {
  const { kind, namespace } = reference.from
  const group = groupOf(kind)
  const { name } = reference.to
  return (
    from.some((it) => it.group === group && it.kind === writtenKind(kind) && it.namespace === namespace) &&
    to.some(
      (it) =>
        it.group === groupOf(reference.to.kind) &&
        it.kind === writtenKind(reference.to.kind) &&
        (it.name === undefined || it.name === name),
    )
  )
}

/**
 * Says why a reference does not count, and what would let it.
 *
 * @param effect - what comes of it
 */
export function refusedReference(reference: CrossReference, effect: string): string {
  const { kind, namespace, name } = reference.to
  return `${kind} ${namespace}/${name} is in another namespace, which does not permit the reference, so that ${effect}; ${neededGrant(reference)}`
}

function neededGrant({ from, to }: CrossReference): string {
  const source = `{group: ${groupOf(from.kind)}, kind: ${writtenKind(from.kind)}, namespace: ${from.namespace}}`
  const target = `{group: ${groupOf(to.kind) || '""'}, kind: ${writtenKind(to.kind)}, name: ${to.name}}`
  return `it needs a ReferenceGrant in namespace ${to.namespace} with from ${source} and to ${target}`
}

/** API group of a kind, as ReferenceGrants write it. */
export function groupOf(kind: Kind): string {
  const { apiVersion } = kindDefinitions[kind]
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? '' : apiVersion.slice(0, slash)
}

/** References that ReferenceGrants can permit: from which kind, to which. */
export const grantableReferences: readonly { readonly from: CrossNamespaceKind; readonly to: Kind }[] = [
  { from: 'Egress', to: 'ServiceAccount' },
  { from: 'EgressGateway', to: 'Egress' },
  { from: 'EgressGateway', to: 'Service' },
  { from: 'PluginConfig', to: 'Service' },
  { from: 'AccessCert', to: 'IngressBackend' },
  { from: 'AccessCert', to: 'AccessControl' },
  { from: 'HTTPRoute', to: 'Service' },
  { from: 'GRPCRoute', to: 'Service' },
  { from: 'GatewayTCPRoute', to: 'Service' },
  { from: 'TLSRoute', to: 'Service' },
]

/** What comes of a rule about an Egress that it must not be about. */
export const EGRESS_UNCHANGED = 'its traffic takes no gateway of this rule'
/** What comes of a source that an Egress must not have. */
export const SOURCE_UNCHANGED = 'nothing is opened to it'

/** Says whose traffic global gateways of a namespace are for. */
export function globalGatewaysOfNamespace(namespace: string, osmNamespace: string): string {
  return `is for workloads of namespace ${namespace} only; gateways of every namespace belong into an EgressGateway of namespace ${osmNamespace}`
}
