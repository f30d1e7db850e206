import type { Snapshot } from '../../snapshot/snapshot.js'
import { canonicalHost } from '../names.js'
import { objectKey, type MeshObject } from '../objects.js'
import type { CrossReference } from '../reference-grant.js'
import { portProtocol } from '../protocol.js'
import { serviceHostName, serviceOfHost, splitApexName } from '../service-names.js'

/** Things that one object only can have. */
export type ClaimKind = 'split' | 'ingress' | 'access' | 'upstream' | 'gateway' | 'server-first' | 'egress-setting'

/** What claims are told by. */
export interface ClaimRules {
  readonly clusterDomain: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** True if a reference to another namespace counts. */
  readonly permits: (reference: CrossReference) => boolean
}

type AccessObject = MeshObject<'IngressBackend'> | MeshObject<'AccessControl'>

/** What checks ask about claims. */
export type ClaimLookup = Pick<Claims, 'granting' | 'owner' | 'rival' | 'trusting'>

/** Finds out who claims what first. Looks at each kind of object once, when first asked. */
export class Claims {
  readonly #snapshot: Snapshot
  readonly #rules: ClaimRules
  #trusting: ReadonlyMap<string, readonly AccessObject[]> | undefined
  #granting: ReadonlyMap<string, MeshObject<'TrafficTarget'>> | undefined
  readonly #owners = new Map<ClaimKind, ReadonlyMap<string, MeshObject>>()

  constructor(snapshot: Snapshot, rules: ClaimRules) {
    this.#snapshot = snapshot
    this.#rules = rules
  }

  /** The object other than this one that has the claim, if any. Another version of this one does not count. */
  rival(kind: ClaimKind, claim: string, object: MeshObject): MeshObject | undefined {
    const owner = this.owner(kind, claim)
    return owner !== undefined && objectKey(owner) !== objectKey(object) ? owner : undefined
  }

  /** Objects that let in callers whose certificate holds the name. */
  trusting(name: string): readonly AccessObject[] {
    this.#trusting ??= trustedNames(this.#snapshot)
    return this.#trusting.get(canonicalHost(name)) ?? []
  }

  /** The first TrafficTarget in the namespace of an account that names it, as a source or as its destination. */
  granting({ namespace, name }: { readonly namespace: string; readonly name: string }): MeshObject | undefined {
    this.#granting ??= grantedAccounts(this.#snapshot)
    return this.#granting.get(`${namespace}/${name}`)
  }

  /** The object that has the claim, or undefined if no one claims it. */
  owner(kind: ClaimKind, claim: string): MeshObject | undefined {
    let owners = this.#owners.get(kind)
    if (owners === undefined) {
      owners = firstOf(claimants[kind](this.#snapshot, this.#rules), this.#rules)
      this.#owners.set(kind, owners)
    }
    return owners.get(claim)
  }
}

/** What a split claims: its apex, if it takes all requests. */
export function splitClaim(split: MeshObject<'TrafficSplit'>): string | undefined {
  const { spec, metadata } = split
  return (spec.matches ?? []).length > 0 ? undefined : `${metadata.namespace}/${splitApexName(spec.service)}`
}

/** What an entry of an IngressBackend or AccessControl claims. */
export function backendClaim(
  namespace: string,
  backend: { readonly name: string; readonly port: { readonly number: number } },
): string {
  return `${namespace}/${backend.name}|${backend.port.number}`
}

/** What lets servers speak first on a port claims, for callers of an account; the name is empty for all callers of the namespace. */
export function serverFirstClaim(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  port: number,
): string {
  return `${namespace}/${name}|${port}`
}

/** What an UpstreamTrafficSetting claims: its host, within its namespace. A service is one host, however its name is written. */
export function upstreamClaim(
  { metadata: { namespace }, spec: { host } }: MeshObject<'UpstreamTrafficSetting'>,
  clusterDomain: string,
): string {
  const service = serviceOfHost(host, namespace, clusterDomain)
  return `${namespace}/${service === undefined ? host.toLowerCase() : serviceHostName(service, clusterDomain)}`
}

function trustedNames(snapshot: Snapshot): ReadonlyMap<string, readonly AccessObject[]> {
  const trusting = new Map<string, AccessObject[]>()
  for (const object of [...snapshot.list('IngressBackend'), ...snapshot.list('AccessControl')]) {
    const principals = object.spec.sources.filter(({ kind }) => kind === 'AuthenticatedPrincipal')
    for (const name of new Set(principals.map((source) => canonicalHost(source.name)))) {
      const others = trusting.get(name)
      if (others === undefined) trusting.set(name, [object])
      else others.push(object)
    }
  }
  return trusting
}

/** The first TrafficTarget of each account. Targets of other namespaces do not count: another namespace must not be able to withdraw a certificate. */
function grantedAccounts(snapshot: Snapshot): ReadonlyMap<string, MeshObject<'TrafficTarget'>> {
  const granting = new Map<string, MeshObject<'TrafficTarget'>>()
  for (const target of snapshot.list('TrafficTarget'))
    for (const { namespace = target.metadata.namespace, name } of [...target.spec.sources, target.spec.destination]) {
      const account = `${namespace}/${name}`
      if (namespace === target.metadata.namespace && !granting.has(account)) granting.set(account, target)
    }
  return granting
}

type Claim = readonly [claim: string, object: MeshObject]

const claimants: Readonly<Record<ClaimKind, (snapshot: Snapshot, rules: ClaimRules) => readonly Claim[]>> = {
  split: (snapshot) =>
    snapshot.list('TrafficSplit').flatMap((split) => {
      const claim = splitClaim(split)
      return claim === undefined ? [] : [[claim, split] as const]
    }),
  ingress: (snapshot) =>
    snapshot
      .list('IngressBackend')
      .flatMap((object) =>
        object.spec.backends.map((it) => [backendClaim(object.metadata.namespace, it), object] as const),
      ),
  access: (snapshot) =>
    snapshot
      .list('AccessControl')
      .flatMap((object) =>
        object.spec.backends.map((it) => [backendClaim(object.metadata.namespace, it), object] as const),
      ),
  upstream: (snapshot, { clusterDomain }) =>
    snapshot.list('UpstreamTrafficSetting').map((object) => [upstreamClaim(object, clusterDomain), object] as const),
  gateway: (snapshot, rules) => snapshot.list('EgressGateway').flatMap((object) => gatewayClaims(object, rules)),
  'egress-setting': (snapshot) =>
    snapshot
      .list('Egress')
      .flatMap((egress) =>
        (egress.spec.matches ?? [])
          .filter(({ kind }) => kind === 'UpstreamTrafficSetting')
          .map(({ name }) => [`${egress.metadata.namespace}/${name}`, egress] as const),
      ),
  'server-first': (snapshot, rules) => [...serverFirstServices(snapshot), ...serverFirstEgress(snapshot, rules)],
}

/** The global gateways of a namespace, by `<namespace>/`, and those of each Egress. */
function gatewayClaims(object: MeshObject<'EgressGateway'>, { permits }: ClaimRules): readonly Claim[] {
  const { global = [], rules = [] } = object.spec
  const from = { kind: 'EgressGateway', namespace: object.metadata.namespace } as const
  const ruled = rules
    .flatMap(({ egressPolicies }) => egressPolicies)
    .filter(({ namespace, name }) => permits({ from, to: { kind: 'Egress', namespace, name } }))
  return [
    ...(global.length > 0 ? [[`${from.namespace}/`, object] as const] : []),
    ...ruled.map(({ namespace, name }) => [`${namespace}/${name}`, object] as const),
  ]
}

function serverFirstServices(snapshot: Snapshot): readonly Claim[] {
  return snapshot
    .list('Service')
    .flatMap((service) =>
      service.spec.ports.flatMap((port) =>
        portProtocol(port).protocol === 'tcp-server-first'
          ? [[serverFirstClaim({ namespace: service.metadata.namespace, name: '' }, port.port), service] as const]
          : [],
      ),
    )
}

function serverFirstEgress(snapshot: Snapshot, { permits }: ClaimRules): readonly Claim[] {
  return snapshot.list('Egress').flatMap((egress) => {
    const from = { kind: 'Egress', namespace: egress.metadata.namespace } as const
    const sources = egress.spec.sources.filter(({ namespace, name }) =>
      permits({ from, to: { kind: 'ServiceAccount', namespace, name } }),
    )
    return egress.spec.ports
      .filter(({ protocol }) => protocol.toLowerCase() === 'tcp-server-first')
      .flatMap(({ number }) => sources.map((source) => [serverFirstClaim(source, number), egress] as const))
  })
}

/** The first claimant of each: of the namespace that the claim is in, then of the control plane's, then by namespace and name. */
function firstOf(claims: readonly Claim[], { osmNamespace }: ClaimRules): ReadonlyMap<string, MeshObject> {
  const owners = new Map<string, MeshObject>()
  const rank = (claim: string, { metadata: { namespace } }: MeshObject): number =>
    claim.startsWith(`${namespace}/`) ? 0 : namespace === osmNamespace ? 1 : 2
  for (const [claim, object] of claims) {
    const held = owners.get(claim)
    if (held === undefined || rank(claim, object) < rank(claim, held)) owners.set(claim, object)
  }
  return owners
}
