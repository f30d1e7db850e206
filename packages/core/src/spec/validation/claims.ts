import type { Snapshot } from '../../snapshot/snapshot.js'
import { objectKey, type MeshObject } from '../objects.js'
import { portProtocol } from '../protocol.js'
import { splitApexName } from '../service-names.js'

/** Things that one object only can have. */
export type ClaimKind = 'split' | 'ingress' | 'access' | 'upstream' | 'gateway' | 'server-first'

/** Finds out who claims what first, by namespace and name. Looks at each kind of object once, when first asked. */
export class Claims {
  readonly #snapshot: Snapshot
  readonly #owners = new Map<ClaimKind, ReadonlyMap<string, MeshObject>>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
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
      owners = firstOf(claimants[kind](this.#snapshot))
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

/** What an UpstreamTrafficSetting claims: its host, within its namespace. */
export function upstreamClaim({ metadata, spec }: MeshObject<'UpstreamTrafficSetting'>): string {
  return `${metadata.namespace}/${spec.host.toLowerCase()}`
}

type Claim = readonly [claim: string, object: MeshObject]

const claimants: Readonly<Record<ClaimKind, (snapshot: Snapshot) => readonly Claim[]>> = {
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
  upstream: (snapshot) =>
    snapshot.list('UpstreamTrafficSetting').map((object) => [upstreamClaim(object), object] as const),
  gateway: (snapshot) =>
    snapshot
      .list('EgressGateway')
      .flatMap((object) => ((object.spec.global ?? []).length > 0 ? [['', object] as const] : [])),
  'server-first': (snapshot) => [...serverFirstServices(snapshot), ...serverFirstEgress(snapshot)],
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
