import type { MeshService, Principal } from '@osm-ts/driver-api'
import { compareText, type IngressPart, type RouteMatch } from '@osm-ts/driver-api/policy'

import { isDnsDomain } from '../../../identity/index.js'
import type { ObjectRef } from '../../../problem.js'
import { EVERY_ADDRESS, parseIpRange } from '../../../spec/ip-range.js'
import type { KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { endpointsOfService, objectInputs, settingInputs } from '../../inputs/inputs.js'
import { MAX_ACCESS_BACKENDS, objectCombinations, reportTooMany } from '../problems/combinations.js'
import { nameKey, sortedUnique, type NamespacedName } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { referencedMatches } from '../routing/referenced-matches.js'

/** Kinds that open services to callers outside the mesh. They have one form. */
export type AccessKind = 'IngressBackend' | 'AccessControl'

/** The kinds in the order in which they hold where they contradict each other. */
export const accessKinds: readonly AccessKind[] = ['IngressBackend', 'AccessControl']

/** Names an object of one of the kinds. */
export interface AccessRef extends NamespacedName {
  readonly kind: AccessKind
}

/** What a backend of such an object lets in. */
export interface Opening {
  readonly protocol: 'http' | 'grpc'
  readonly tls: IngressPart['tls']
  /** SNI names; empty for any. Empty without TLS. */
  readonly serverNames: readonly string[]
  /** Canonical ranges, sorted; never empty. */
  readonly sources: readonly string[]
  /** With mTLS: names of client certificates, sorted, never empty. Else empty. */
  readonly principals: readonly Principal[]
  /** Sorted by canonical JSON; never empty. */
  readonly matches: readonly RouteMatch[]
  readonly origins: readonly SourceRef[]
}

/** One entry of `spec.backends`. */
export interface AccessBackend {
  /** Name of the service, in the namespace of the object. */
  readonly service: string
  readonly targetPort: number
  readonly object: ObjectRef
  /** Path of the entry inside the object. */
  readonly field: string
  /** Undefined: the entry allows no caller. It keeps its claim on the port all the same. */
  readonly opening: Opening | undefined
}

interface AccessAnalysis {
  /** The first entry for each port of a service. */
  readonly backends: readonly AccessBackend[]
  readonly problems: readonly PolicyProblem[]
}

type Context = QueryContext<CatalogState>
type AccessObject = KindMap[AccessKind]
type Backend = AccessObject['spec']['backends'][number]

/** What an IngressBackend or AccessControl says, with its references followed; undefined if there is none of that name, or the feature is off. */
export const accessAnalysis = defineQuery<CatalogState, AccessRef, AccessAnalysis | undefined>({
  name: 'access-analysis',
  keyOf: (ref) => `${ref.kind} ${nameKey(ref)}`,
  equal: deepEqual,
  compute: (context, { kind, namespace, name }) => {
    const isIngress = kind === 'IngressBackend'
    if (!context.get(isIngress ? settingInputs.ingressBackends : settingInputs.accessControls, '')) return undefined
    const object = isIngress
      ? context.get(objectInputs.IngressBackend, { namespace, name })
      : context.get(objectInputs.AccessControl, { namespace, name })
    return object && analyse(context, object)
  },
})

interface SourceAddresses {
  /** As ranges, sorted. */
  readonly addresses: readonly string[]
  /** Why the addresses may be incomplete or out of date. */
  readonly doubt?: string
}

/** Addresses of the endpoints of a service. */
const addressesOfService = defineQuery<CatalogState, MeshService, SourceAddresses>({
  name: 'addresses-of-service',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const answer = context.get(endpointsOfService, service)
    const addresses = sortedUnique(
      answer.items
        // The gateway of another cluster is not the workload behind it.
        .filter(({ cluster }) => cluster === '')
        .flatMap(({ address }) => parseIpRange(address)?.text ?? []),
    )
    const [condition] = answer.state === 'known' ? [] : answer.conditions
    return condition === undefined ? { addresses } : { addresses, doubt: condition.message }
  },
})

interface Callers {
  readonly sources: readonly string[]
  /** False: the object speaks of principals alone. */
  readonly namesAddresses: boolean
  readonly principals: readonly Principal[]
}

function analyse(context: Context, object: AccessObject): AccessAnalysis {
  const { metadata, spec } = object
  const problems = new ProblemList(objectRefOf(object.kind, metadata))
  const callers = callersOf(context, object, problems)
  const { matches, origins } = referencedMatches(context, metadata.namespace, spec.matches ?? [], problems)
  if (isTooLarge(spec, callers, matches.length, problems)) return { backends: [], problems: problems.items }
  const backends: AccessBackend[] = []
  for (const [index, backend] of spec.backends.entries()) {
    const field = `spec.backends[${index}]`
    const { name: service, port } = backend
    if (backends.some((other) => other.service === service && other.targetPort === port.number)) {
      const message = `${service} port ${port.number} is already a backend of this object; the first one applies`
      problems.error('OSM_SPEC_CONFLICT', field, message)
      continue
    }
    const reference = objectRefOf(object.kind, metadata)
    const access = backendAccessOf(backend, callers, field, problems)
    const opening: Opening | undefined =
      access === undefined || matches.length === 0
        ? undefined
        : { ...access, matches, origins: [{ object: reference, field }, ...origins] }
    backends.push({ service, targetPort: port.number, object: reference, field, opening })
  }
  return { backends, problems: problems.items }
}

/** True for an object that exceeds its limits and lets no one in. */
function isTooLarge(
  { backends }: AccessObject['spec'],
  callers: Callers,
  matches: number,
  problems: ProblemList,
): boolean {
  const { sources, principals } = callers
  const names = backends.reduce((sum, { tls }) => sum + (tls?.sniHosts ?? []).length, 0)
  const pairs = backends.length * (sources.length + principals.length + matches) + names
  if (backends.length > MAX_ACCESS_BACKENDS)
    reportTooMany(
      problems,
      'spec.backends',
      `has ${backends.length} backends, and allows no caller`,
      MAX_ACCESS_BACKENDS,
    )
  else if (pairs > objectCombinations.access) {
    const what = `has ${pairs} combinations of backend and source, host name or match, and allows no caller`
    reportTooMany(problems, 'spec', what, objectCombinations.access)
  } else return false
  return true
}

function callersOf(context: Context, { metadata, spec }: AccessObject, problems: ProblemList): Callers {
  const found = spec.sources.map(({ kind, name, namespace }, index): Partial<Callers> => {
    const field = `spec.sources[${index}]`
    switch (kind) {
      case 'IPRange': {
        const range = parseIpRange(name)
        if (range !== undefined && name.includes('/')) return { sources: [range.text] }
        problems.error(
          'OSM_SPEC_ADDRESS',
          `${field}.name`,
          `${JSON.stringify(name)} is not an address range such as 10.0.0.0/8`,
        )
        return {}
      }
      case 'Service':
        if (namespace === undefined || namespace === '') {
          const message = 'is missing: a source of kind Service needs one'
          problems.error('OSM_SPEC_REFERENCE', `${field}.namespace`, message)
          return {}
        }
        return { sources: gatewayAddresses(context, { namespace, name }, field, problems) }
      case 'AuthenticatedPrincipal': {
        const principal = name.toLowerCase()
        // The brand is of principals of the mesh; here it is any name that a certificate may hold.
        if (isDnsDomain(principal)) return { principals: [principal as Principal] }
        const message = `${JSON.stringify(name)} is not a valid DNS name for a certificate, and allows no caller`
        problems.error('OSM_SPEC_PRINCIPAL', `${field}.name`, message)
        return {}
      }
    }
  })
  if (spec.sources.length === 0)
    problems.error('OSM_SPEC_NO_EFFECT', 'spec.sources', `is empty: ${metadata.name} allows no caller`)
  return {
    sources: sortedUnique(found.flatMap(({ sources = [] }) => sources)),
    namesAddresses: spec.sources.some(({ kind }) => kind !== 'AuthenticatedPrincipal'),
    principals: sortedUnique(found.flatMap(({ principals = [] }) => principals)),
  }
}

function gatewayAddresses(
  context: Context,
  service: MeshService,
  field: string,
  problems: ProblemList,
): readonly string[] {
  const { addresses, doubt } = context.get(addressesOfService, service)
  if (doubt !== undefined) problems.warning('OSM_POLICY_INGRESS_SOURCE', `${field}.name`, doubt)
  if (addresses.length > 0 || doubt !== undefined) return addresses
  const message = `Service ${nameKey(service)} has no endpoints, so it allows no caller; create it, or start its workloads`
  problems.error('OSM_POLICY_INGRESS_SOURCE', `${field}.name`, message)
  return []
}

/** Who comes in and how; undefined if no one does. */
function backendAccessOf(
  { port, tls: options }: Backend,
  { sources, namesAddresses, principals }: Callers,
  field: string,
  problems: ProblemList,
): Omit<Opening, 'matches' | 'origins'> | undefined {
  const spoken = port.protocol.toLowerCase()
  if (spoken !== 'http' && spoken !== 'https' && spoken !== 'grpc') {
    const message = `must be one of http, https, grpc, not ${JSON.stringify(port.protocol)}`
    problems.error('OSM_SPEC_PROTOCOL', `${field}.port.protocol`, message)
    return undefined
  }
  const protocol = spoken === 'grpc' ? 'grpc' : 'http'
  const tls = spoken !== 'https' ? 'none' : options?.skipClientCertValidation === true ? 'tls' : 'mtls'
  const serverNames = tls === 'none' ? [] : namesOf(options?.sniHosts ?? [], field, problems)
  if (serverNames === undefined) return undefined
  if (tls === 'mtls') {
    if (principals.length === 0) {
      const message =
        'clients must show a certificate: name at least one source of kind AuthenticatedPrincipal, or set skipClientCertValidation to true'
      problems.error('OSM_SPEC_PRINCIPAL', `${field}.tls`, message)
      return undefined
    }
    // A certificate proves who calls, wherever from.
    const from = namesAddresses ? sources : EVERY_ADDRESS
    return from.length === 0 ? undefined : { protocol, tls, serverNames, sources: from, principals }
  }
  if (!namesAddresses && principals.length > 0) {
    const message =
      'callers show no certificate here, so that a source of kind AuthenticatedPrincipal allows no caller; name a source of kind Service or IPRange'
    problems.error('OSM_POLICY_INGRESS_SOURCE', field, message)
  }
  return sources.length === 0 ? undefined : { protocol, tls, serverNames, sources, principals: [] }
}

/** Sorted; undefined if names are requested and none of them can be. */
function namesOf(hosts: readonly string[], field: string, problems: ProblemList): readonly string[] | undefined {
  const usable = hosts.flatMap((host, index) => {
    const name = host.toLowerCase()
    if (isDnsDomain(name.replace(/^\*\./, ''))) return [name]
    const message = `${JSON.stringify(host)} is not a host name that clients can request`
    problems.error('OSM_SPEC_HOST', `${field}.tls.sniHosts[${index}]`, message)
    return []
  })
  return hosts.length > 0 && usable.length === 0 ? undefined : [...new Set(usable)].sort(compareText)
}
