import { isInRange } from './addresses.js'
import { isHostOf } from './mesh-names.js'
import { type AccessBackend, type Known, type Objects, type Ref, type Rule, shown } from './objects.js'
import { type ReferencedMatch, referencedMatches } from './route-groups.js'
import { type HttpRequest, letsIn, type ReadRequest } from './route-match.js'
import { workloadsOf } from './services.js'

/** Somebody without a sidecar, by what the mesh can see of him. */
export interface OutsideCaller {
  /** Where he calls from. If no one says, he is let in by what is open to every address. */
  readonly address?: string
  /** Service of which he is an endpoint. */
  readonly service?: Ref
  /** Names in his certificate. Without any he shows none. */
  readonly principals?: readonly string[]
  /** Server name that he requests over TLS. */
  readonly serverName?: string
}

/** What the oracle is asked about a caller from outside: may he send this to that service? He speaks TLS where he is asked to. */
export interface OutsideQuestion {
  readonly caller: OutsideCaller
  readonly to: Ref
  /** Port of the service. */
  readonly port: number
  readonly request: HttpRequest
}

/** What becomes of a request from outside. */
export interface OutsideVerdict {
  /** As of requests inside the mesh. */
  readonly outcome: 'allow' | 'deny' | 'depends' | 'refuse' | 'nowhere'
  /** Why; for a denial what comes nearest to allowing it. */
  readonly reasons: readonly string[]
  readonly by: readonly Rule[]
}

/** What becomes of it at one port of workloads. */
export type Admission = Pick<OutsideVerdict, 'reasons' | 'by'> & { readonly allowed: boolean }

const kinds = [
  { kind: 'IngressBackend', flag: 'enableIngressBackendPolicy' },
  { kind: 'AccessControl', flag: 'enableAccessControlPolicy' },
] as const

type AccessKind = (typeof kinds)[number]['kind']

/** The entry of an object that has a port of workloads. */
interface Entry {
  readonly kind: AccessKind
  readonly object: Known<AccessKind>
  readonly backend: AccessBackend
  readonly rule: Rule
}

/** An entry by which a caller may come, as far as addresses and server names go. */
interface Access {
  readonly entry: Entry
  readonly tls: 'none' | 'tls' | 'mtls'
  readonly protocol: 'http' | 'grpc'
  /** `mtls`: names of which a certificate must hold one. */
  readonly principals: readonly string[]
  /** Undefined: every request. */
  readonly matches: readonly ReferencedMatch[] | undefined
}

/** Says what becomes of a request from outside at a port of the workloads behind a service. */
export function admit(
  objects: Objects,
  caller: OutsideCaller,
  service: Known<'Service'>,
  targetPort: number,
  request: ReadRequest,
): Admission {
  const entries = kinds.flatMap(({ kind, flag }) => {
    const isOn = objects.list('MeshConfig').every(({ spec }) => spec.featureFlags?.[flag] !== false)
    const entry = isOn ? entryOf(objects, kind, service, targetPort) : undefined
    return entry === undefined ? [] : [entry]
  })
  if (entries.length === 0) {
    const where = `port ${targetPort} of the workloads behind Service ${shown(service)}`
    return { allowed: false, reasons: [`no IngressBackend and no AccessControl names ${where}`], by: [] }
  }
  const reasons: string[] = []
  const groups = entries.flatMap((entry) => {
    const group = accessOf(objects, entry, caller)
    if (typeof group !== 'string') return [group]
    reasons.push(`${nameOf(entry)} ${group}`)
    return []
  })
  for (const group of groups) {
    const first = groups.find((other) => (other.tls === 'none') === (group.tls === 'none')) ?? group
    const obstacle = joins(first, group)
      ? obstacleTo(group, caller, request)
      : `gives way to ${nameOf(first.entry)} there`
    if (typeof obstacle !== 'string')
      return { allowed: true, reasons: [`${nameOf(group.entry)} lets it in`], by: [group.entry.rule, ...obstacle] }
    reasons.push(`${nameOf(group.entry)} ${obstacle}`)
  }
  return { allowed: false, reasons, by: [] }
}

/** The first object of a kind that names the port has it, whatever else it says. */
function entryOf(objects: Objects, kind: AccessKind, service: Ref, targetPort: number): Entry | undefined {
  for (const object of objects.list(kind)) {
    const backends = object.namespace === service.namespace ? (object.spec.backends ?? []) : []
    const index = backends.findIndex(({ name, port }) => name === service.name && port.number === targetPort)
    const backend = backends[index]
    const { namespace, name } = object
    if (backend !== undefined)
      return { kind, object, backend, rule: { kind, namespace, name, field: `spec.backends[${index}]` } }
  }
  return undefined
}

/** How a caller comes in by an entry; else what keeps him out. */
function accessOf(objects: Objects, entry: Entry, caller: OutsideCaller): Access | string {
  const { backend, object } = entry
  const spoken = backend.port.protocol.toLowerCase()
  if (spoken !== 'http' && spoken !== 'https' && spoken !== 'grpc') return `says ${spoken}, which is not a protocol`
  const tls = spoken !== 'https' ? 'none' : backend.tls?.skipClientCertValidation === true ? 'tls' : 'mtls'
  const sources = object.spec.sources ?? []
  const isPlace = ({ kind }: (typeof sources)[number]): boolean => kind === 'IPRange' || kind === 'Service'
  const principals = sources
    .filter(({ kind }) => kind === 'AuthenticatedPrincipal')
    .map(({ name }) => name.toLowerCase())
  if (tls === 'mtls' && principals.length === 0) return 'asks for a certificate and names none that would do'
  const everywhere = tls === 'mtls' && !sources.some(isPlace)
  if (!everywhere && !sources.some((source) => isFrom(objects, caller, source)))
    return `is not for callers from ${describe(caller)}`
  const serverNames = tls === 'none' ? [] : (backend.tls?.sniHosts ?? []).map((name) => name.toLowerCase())
  if (serverNames.length > 0 && !serverNames.some((name) => isHostOf(name, caller.serverName?.toLowerCase() ?? '')))
    return `is for TLS with the server name ${serverNames.join(' or ')}`
  const references = object.spec.matches ?? []
  const matches = references.length === 0 ? undefined : referencedMatches(objects, object.namespace, references)
  if (matches?.length === 0) return 'is limited to matches of which none can be used'
  return { entry, tls, protocol: spoken === 'grpc' ? 'grpc' : 'http', principals, matches }
}

function isFrom(
  objects: Objects,
  { address, service }: OutsideCaller,
  source: { readonly kind: string; readonly name: string; readonly namespace?: string },
): boolean {
  const { kind, name, namespace } = source
  if (kind === 'IPRange') {
    const addresses = address === undefined ? addressesOf(objects, service) : [address]
    if (addresses.length === 0) return name.endsWith('/0')
    return addresses.every((each) => isInRange(each, name))
  }
  if (kind !== 'Service' || namespace === undefined) return false
  // Of namespaces that take no part no one knows the endpoints.
  if (service?.name === name && service.namespace === namespace) return objects.find('Service', service) !== undefined
  return address !== undefined && addressesOf(objects, { namespace, name }).includes(address)
}

/** Addresses of the endpoints of a service, as far as anybody has written them down. */
function addressesOf(objects: Objects, ref: Ref | undefined): readonly string[] {
  const service = ref && objects.find('Service', ref)
  if (service === undefined) return []
  return workloadsOf(objects, service).flatMap(({ spec: { address } }) => address ?? [])
}

/** Who may ask and what may be asked are two lists: objects that differ in both can't be joined, and the first one holds. */
function joins(first: Access, group: Access): boolean {
  if (first.tls !== group.tls || first.protocol !== group.protocol) return false
  const isAsked = group.tls === 'mtls'
  return !isAsked || same(first.principals, group.principals) || same(forms(first), forms(group))
}

/** What lets the request in by the matches; else what is wrong with it. */
function obstacleTo(
  { tls, principals, matches }: Access,
  caller: OutsideCaller,
  request: ReadRequest,
): readonly Rule[] | string {
  const shownNames = (caller.principals ?? []).map((name) => name.toLowerCase())
  if (tls === 'mtls' && !principals.some((name) => shownNames.includes(name)))
    return `asks for a certificate with the name ${principals.join(' or ')}`
  if (matches === undefined) return []
  const found = matches.find(({ match }) => letsIn(match, request))
  return found === undefined ? 'has no match for the request' : [found.rule]
}

function forms({ matches }: Access): readonly string[] {
  return (matches ?? []).map(({ match: { pathRegex = '', methods = [], headers = [] } }) =>
    JSON.stringify([pathRegex, methods.toSorted(), headers]),
  )
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.every((each) => other.includes(each)) && other.every((each) => one.includes(each))
}

function describe({ address, service }: OutsideCaller): string {
  return address ?? (service === undefined ? 'everywhere' : `Service ${shown(service)}`)
}

function nameOf({ kind, object }: Entry): string {
  return `${kind} ${shown(object)}`
}
