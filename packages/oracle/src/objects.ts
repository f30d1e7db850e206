import type { ConnectionRouteSpec, GrpcRouteSpec, HttpRouteSpec } from './http-route-spec.js'

/** A Kubernetes object as it is written down. */
export interface OracleObject {
  readonly apiVersion?: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Labels
    readonly creationTimestamp?: string
  }
  readonly spec?: unknown
}

export type Labels = Readonly<Record<string, string>>

/** Names something in a namespace. */
export interface Ref {
  readonly namespace: string
  readonly name: string
}

/** What the oracle reads of each kind. Fields may be absent wherever users may leave them out. */
interface Specs {
  readonly MeshConfig: {
    readonly traffic?: {
      readonly enablePermissiveTrafficPolicyMode?: boolean
      readonly enableEgress?: boolean
      readonly crossNamespace?: { readonly egress?: boolean }
      readonly plaintextNamespaces?: readonly string[]
      readonly escapedSlashes?: 'Reject' | 'Keep'
      readonly keepUnderscoreHeaders?: boolean
    }
    readonly featureFlags?: {
      readonly enableEgressPolicy?: boolean
      readonly enableIngressBackendPolicy?: boolean
      readonly enableAccessControlPolicy?: boolean
    }
  }
  readonly Service: {
    readonly type?: string
    readonly clusterIP?: string
    readonly clusterIPs?: readonly string[]
    readonly selector?: Labels
    readonly ports?: readonly ServicePort[]
  }
  readonly Workload: WorkloadSpec
  readonly ServiceImport: unknown
  readonly TrafficTarget: {
    readonly destination: AccountRef
    readonly sources?: readonly AccountRef[]
    readonly rules?: readonly { readonly kind: string; readonly name: string; readonly matches?: readonly string[] }[]
  }
  readonly HTTPRouteGroup: { readonly matches?: readonly HttpMatch[] }
  readonly TCPRoute: { readonly matches?: { readonly ports?: readonly number[] } }
  readonly TrafficSplit: {
    readonly service: string
    readonly backends?: readonly { readonly service: string; readonly weight: number }[]
    readonly matches?: readonly { readonly kind?: string; readonly name: string }[]
  }
  readonly Egress: {
    readonly sources?: readonly (AccountRef & { readonly mtls?: Origination })[]
    readonly hosts?: readonly string[]
    readonly ipAddresses?: readonly string[]
    readonly ports?: readonly { readonly number: number; readonly protocol: string }[]
    readonly matches?: readonly MatchReference[]
  }
  readonly HTTPRoute: HttpRouteSpec
  readonly GRPCRoute: GrpcRouteSpec
  /** The kind TCPRoute of the Gateway API. */
  readonly GatewayTCPRoute: ConnectionRouteSpec
  readonly TLSRoute: ConnectionRouteSpec
  readonly ReferenceGrant: GrantSpec
  /** The kind ReferenceGrant of the Gateway API. */
  readonly GatewayReferenceGrant: GrantSpec
  readonly IngressBackend: AccessSpec
  readonly AccessControl: AccessSpec
}

/** Consent of a namespace to references from others. */
interface GrantSpec {
  readonly from?: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[]
  readonly to?: readonly { readonly group: string; readonly kind: string; readonly name?: string }[]
}

/** What opens services to callers outside the mesh. */
interface AccessSpec {
  readonly backends?: readonly AccessBackend[]
  readonly sources?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
  readonly matches?: readonly MatchReference[]
}

export interface AccessBackend {
  readonly name: string
  readonly port: { readonly number: number; readonly protocol: string }
  readonly tls?: { readonly skipClientCertValidation?: boolean; readonly sniHosts?: readonly string[] }
}

/** What an object says in `spec.matches`. */
export interface MatchReference {
  readonly apiGroup?: string
  readonly kind?: string
  readonly name: string
}

/** TLS that a sidecar is to speak outside the mesh. */
interface Origination {
  readonly issuer?: string
  readonly cert?: { readonly subjectAltNames?: readonly string[]; readonly secret?: Ref }
}

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly protocol?: string
  readonly appProtocol?: string
}

interface WorkloadSpec {
  /** Of a workload that runs elsewhere. */
  readonly address?: string
  /** True where it says nothing. */
  readonly sidecar?: boolean
  readonly serviceAccountName?: string
  readonly ports?: readonly { readonly name?: string; readonly port: number }[]
}

interface AccountRef {
  readonly kind?: string
  readonly name: string
  readonly namespace?: string
}

export interface HttpMatch {
  readonly name: string
  readonly pathRegex?: string
  readonly methods?: readonly string[]
  readonly headers?: readonly Readonly<Record<string, string>>[]
}

export type KnownKind = keyof Specs

/** An object of a kind that the oracle knows. */
export interface Known<K extends KnownKind> extends Ref {
  readonly labels: Labels
  /** Empty if unknown. */
  readonly createdAt: string
  readonly spec: Specs[K]
}

/** The objects of a mesh by kind, in the order of their names. */
export class Objects {
  /** Its namespace. */
  readonly controlPlane: string
  readonly #objects: readonly OracleObject[]
  readonly #lists = new Map<KnownKind, readonly Known<KnownKind>[]>()

  constructor(objects: readonly OracleObject[], controlPlane: string) {
    this.#objects = objects
    this.controlPlane = controlPlane
  }

  list<K extends KnownKind>(kind: K): readonly Known<K>[] {
    // The lists of a kind hold what its key says.
    const known = this.#lists.get(kind) as readonly Known<K>[] | undefined
    if (known !== undefined) return known
    const list = this.#objects.filter((object) => kindOf(object) === kind).map((object) => read<K>(object))
    list.sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name))
    this.#lists.set(kind, list)
    return list
  }

  find<K extends KnownKind>(kind: K, { namespace, name }: Ref): Known<K> | undefined {
    return this.list(kind).find((object) => object.namespace === namespace && object.name === name)
  }
}

/** Two APIs have a kind ReferenceGrant, and a kind TCPRoute. */
function kindOf({ apiVersion = '', kind }: OracleObject): string {
  const isShared = kind === 'ReferenceGrant' || kind === 'TCPRoute'
  return isShared && apiVersion.startsWith('gateway.networking.k8s.io/') ? `Gateway${kind}` : kind
}

function read<K extends KnownKind>({ metadata, spec }: OracleObject): Known<K> {
  const { name, namespace = 'default', labels = {}, creationTimestamp: createdAt = '' } = metadata
  // Users may write anything; what does not fit is another's to report.
  return { name, namespace, labels, createdAt, spec: (spec ?? {}) as Specs[K] }
}

/** `namespace/name`. */
export function shown({ namespace, name }: Ref): string {
  return `${namespace}/${name}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A place in an object that decides. */
export interface Rule extends Ref {
  readonly kind: KnownKind
  /** Path inside the object. */
  readonly field: string
}
