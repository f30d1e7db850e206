import type { Snapshot } from '../../snapshot/snapshot.js'
import { objectKey, type MeshObject } from '../objects.js'
import { portProtocol } from '../protocol.js'
import { serviceHostName, serviceOfHost, splitApexName } from '../service-names.js'

/** Things that one object only can have. */
export type ClaimKind = 'split' | 'ingress' | 'access' | 'upstream' | 'gateway' | 'server-first'

/** Finds out who claims what first, by namespace and name. Looks at each kind of object once, when first asked. */
export class Claims {
  readonly #snapshot: Snapshot
  readonly #clusterDomain: string
  readonly #owners = new Map<ClaimKind, ReadonlyMap<string, MeshObject>>()

  constructor(snapshot: Snapshot, clusterDomain: string) {
    this.#snapshot = snapshot
    this.#clusterDomain = clusterDomain
  }

  /** The object other than this one that has the claim, if any. Another version of this one does not count. */
  rival(kind: ClaimKind, claim: string, object: MeshObject): MeshObject | undefined {
    const owner = this.owner(kind, claim)
    return owner !== undefined && objectKey(owner) !== objectKey(object) ? owner : undefined
  }

  /** The object that has the claim, or undefined if nobody claims it. */
  owner(kind: ClaimKind, claim: string): MeshObject | undefined {
    let owners = this.#owners.get(kind)
    if (owners === undefined) {
      owners = firstOf(claimants[kind](this.#snapshot, this.#clusterDomain))
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

/** What an UpstreamTrafficSetting claims: its host, within its namespace. A service is one host, however its name is written. */
export function upstreamClaim(
  { metadata: { namespace }, spec: { host } }: MeshObject<'UpstreamTrafficSetting'>,
  clusterDomain: string,
): string {
  const service = serviceOfHost(host, namespace, clusterDomain)
  return `${namespace}/${service === undefined ? host.toLowerCase() : serviceHostName(service, clusterDomain)}`
}

type Claim = readonly [claim: string, object: MeshObject]

const claimants: Readonly<Record<ClaimKind, (snapshot: Snapshot, clusterDomain: string) => readonly Claim[]>> = {
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
  upstream: (snapshot, clusterDomain) =>
    snapshot.list('UpstreamTrafficSetting').map((object) => [upstreamClaim(object, clusterDomain), object] as const),
  gateway: (snapshot) => snapshot.list('EgressGateway').flatMap(gatewayClaims),
  'server-first': (snapshot) => [...serverFirstServices(snapshot), ...serverFirstEgress(snapshot)],
}

/** The global gateways of the mesh, and those of each Egress. */
function gatewayClaims(object: MeshObject<'EgressGateway'>): readonly Claim[] {
  const { global = [], rules = [] } = object.spec
  const ruled = rules.flatMap(({ egressPolicies }) => egressPolicies)
  return [
    ...(global.length > 0 ? [['', object] as const] : []),
    ...ruled.map(({ namespace, name }) => [`${namespace}/${name}`, object] as const),
  ]
}

function serverFirstServices(snapshot: Snapshot): readonly Claim[] {
  return snapshot
    .list('Service')
    .flatMap((service) =>
      service.spec.ports.flatMap((port) =>
        portProtocol(port).protocol === 'tcp-server-first' ? [[String(port.port), service] as const] : [],
      ),
    )
}

function serverFirstEgress(snapshot: Snapshot): readonly Claim[] {
  return snapshot
    .list('Egress')
    .flatMap((egress) =>
      egress.spec.ports.flatMap(({ number, protocol }) =>
        protocol.toLowerCase() === 'tcp-server-first' ? [[String(number), egress] as const] : [],
      ),
    )
}

function firstOf(claims: readonly Claim[]): ReadonlyMap<string, MeshObject> {
  const owners = new Map<string, MeshObject>()
  for (const [claim, object] of claims) if (!owners.has(claim)) owners.set(claim, object)
  return owners
}
