import { isAddress, isSingle } from './addresses.js'
import { isMeshAddress, isMeshDomain, plainHost, serviceNamed } from './mesh-names.js'
import { isHeard, nearness } from './consent.js'
import { type Known, type Objects, type Ref, type Rule, shown } from './objects.js'
import { type ReferencedMatch, referencedMatches } from './route-groups.js'
import { isServed, protocolOf } from './services.js'

/** Stands for every host and every address. */
export const ANY = '*'

/** A destination that an Egress opens to one account. */
export interface EgressOpening {
  readonly egress: Ref
  readonly protocol: 'http' | 'https' | 'tcp'
  readonly serverFirst: boolean
  readonly port: number
  /** A host in one form, a range, or {@link ANY}. */
  readonly target: string
  /** TLS that the sidecar is to speak, in one form; empty for none. */
  readonly origination: string
  /** False: its certificate can't be shown. */
  readonly usable: boolean
  /** `http`: what requests are limited to; undefined for no limit. */
  readonly matches: readonly ReferencedMatch[] | undefined
  readonly rule: Rule
}

const POLICIES = 'policy.openservicemesh.io/v1alpha1'
/** Origination that never is what it was to be. */
const UNUSABLE = 'unusable'

type Source = NonNullable<Known<'Egress'>['spec']['sources']>[number]

/** Destinations on a port that Egress objects open to an account, the one that holds first. */
export function openingsOn(objects: Objects, from: Ref, port: number, clusterDomain: string): readonly EgressOpening[] {
  if (!objects.list('MeshConfig').every(({ spec }) => spec.featureFlags?.enableEgressPolicy !== false)) return []
  const all = objects
    .list('Egress')
    .filter((egress) => isHeard(objects, { kind: 'Egress', namespace: egress.namespace }, from))
    .toSorted((a, b) => nearness(objects, a, from) - nearness(objects, b, from))
    .flatMap((egress) =>
      (egress.spec.sources ?? [])
        .filter((source) => source.name === from.name && source.namespace === from.namespace)
        .flatMap((source) => openingsOf(objects, egress, source, clusterDomain)),
    )
    .filter(
      ({ protocol, target }) =>
        protocol === 'tcp' ||
        target.startsWith(ANY) ||
        serviceNamed(objects, target, from.namespace, clusterDomain) === undefined,
    )
    .filter((opening) => opening.port === port)
  const held = new Map<string, EgressOpening>()
  const holds = (opening: EgressOpening): boolean => {
    const { protocol, target, serverFirst, origination } = opening
    const key = `${protocol} ${target}`
    const first = held.get(key) ?? opening
    held.set(key, first)
    return first.serverFirst === serverFirst && first.origination === origination
  }
  return all.filter((opening) => !isCrowdedOut(objects, from, opening, all)).filter(holds)
}

function openingsOf(
  objects: Objects,
  egress: Known<'Egress'>,
  source: Source,
  clusterDomain: string,
): readonly EgressOpening[] {
  const { namespace, name, spec } = egress
  const origination = originationOf(source, namespace)
  const references = spec.matches ?? []
  const isLimited = references.some(({ apiGroup, kind }) => apiGroup !== POLICIES || kind !== 'UpstreamTrafficSetting')
  const matches = isLimited ? referencedMatches(objects, namespace, references) : undefined
  return (spec.ports ?? []).flatMap(({ number: port, protocol: written }, index) => {
    const said = written.toLowerCase()
    // TLS to addresses that are named without any host is told by the addresses alone.
    const byAddress = (spec.hosts ?? []).length === 0 && (spec.ipAddresses ?? []).length > 0
    const spoken = said === 'https' && byAddress ? 'tcp' : said
    const serverFirst = spoken === 'tcp-server-first'
    const protocol = serverFirst ? 'tcp' : spoken
    if (protocol !== 'http' && protocol !== 'https' && protocol !== 'tcp') return []
    // Without a match that can be used no request leaves, and the object is in the way of no other one.
    if (protocol === 'http' && matches?.length === 0) return []
    const targets =
      protocol === 'tcp'
        ? rangesOf(objects, egress, port, `spec.ports[${index}]`)
        : hostsOf(objects, egress, clusterDomain).filter(({ target }) => protocol === 'http' || !isAddress(target))
    return targets
      .filter(({ target }) => origination === '' || (protocol === 'http' && !target.startsWith(ANY)))
      .map(({ target, field }) => ({
        egress,
        protocol,
        serverFirst,
        port,
        target,
        origination,
        usable: origination !== UNUSABLE,
        matches: protocol === 'http' ? matches : undefined,
        rule: { kind: 'Egress', namespace, name, field },
      }))
  })
}

interface Target {
  readonly target: string
  readonly field: string
}

/** Hosts in one form, without those of the mesh. Without any no request is let out by them. */
function hostsOf(objects: Objects, { spec }: Known<'Egress'>, clusterDomain: string): readonly Target[] {
  return (spec.hosts ?? [])
    .map((host, index) => ({ target: plainHost(host), field: `spec.hosts[${index}]` }))
    .filter(({ target }) =>
      target.startsWith('*.')
        ? !isMeshDomain(objects, target.slice(2), clusterDomain)
        : serviceNamed(objects, target, '', clusterDomain) === undefined,
    )
}

/** Without ranges every address is open, but not by an object that names hosts, which bytes can't be told by. */
function rangesOf(objects: Objects, { spec }: Known<'Egress'>, port: number, field: string): readonly Target[] {
  const { ipAddresses = [], hosts = [] } = spec
  if (ipAddresses.length === 0) return hosts.length === 0 ? [{ target: ANY, field }] : []
  return ipAddresses
    .map((target, index) => ({ target, field: `spec.ipAddresses[${index}]` }))
    .filter(({ target }) => !isSingle(target) || !isMeshAddress(objects, target, port))
}

/** Anyone who may write an Egress gets at no Secret of another namespace by it. */
function originationOf({ mtls }: Source, namespace: string): string {
  if (mtls === undefined) return ''
  const { issuer, cert } = mtls
  const isOwn = issuer === 'osm'
  if (!isOwn && cert?.secret?.namespace !== namespace) return UNUSABLE
  return JSON.stringify([
    isOwn ? 'osm' : shown(cert?.secret ?? { namespace, name: '' }),
    cert?.subjectAltNames?.toSorted(),
  ])
}

/** What can't be told from the rest of its port. */
function isCrowdedOut(
  objects: Objects,
  from: Ref,
  { protocol, port, target }: EgressOpening,
  all: readonly EgressOpening[],
): boolean {
  // TLS is told by what the client says first.
  if (
    protocol === 'https' &&
    (all.some(({ serverFirst }) => serverFirst) || hasServerFirst(objects, from.namespace, port))
  )
    return true
  return protocol !== 'http' && target === ANY && all.some((other) => other.protocol === 'http')
}

function hasServerFirst(objects: Objects, home: string, number: number): boolean {
  return objects
    .list('Service')
    .filter((service) => service.namespace === home && isServed(objects, service))
    .some(({ spec }) =>
      (spec.ports ?? []).some((port) => port.port === number && protocolOf(port) === 'tcp-server-first'),
    )
}
