/**
 * Arbitrary documents: parts that belong together, so that `checkPolicy` finds nothing. A small model is made up first and then turned into parts; thus
 * a counterexample shrinks to a model that a reader understands.
 */
import fc from 'fast-check'

import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../src/index.js'
import {
  compareAllowRules,
  compareText,
  denyForm,
  type EgressPart,
  type InboundPart,
  type Part,
  type PartHash,
  type PartOf,
  type PrincipalsPart,
  type Protocol,
  type ProxyPart,
  type ProxyPolicy,
  type RouteMatch,
  type SetMemberKind,
  type SetPart,
} from '../src/policy/index.js'
import { PartBag } from './part-bag.js'
import { count, partArbitraries, principal, protocol, routeMatch, sortedList, TRUST_DOMAIN } from './arbitraries.js'

interface ServiceModel {
  readonly namespace: 'bank' | 'shop'
  readonly name: string
  readonly port: number
  readonly protocol: Protocol
  readonly isServed: boolean
  readonly isDenied: boolean
  readonly allow: readonly { readonly match: RouteMatch; readonly callers: number }[]
  readonly match: RouteMatch
  /** Places of the services that get a share, modulo the number of those that can. */
  readonly split: readonly { readonly place: number; readonly weight: number }[]
  readonly retries: boolean
}

interface PolicyModel {
  readonly mode: 'explicit' | 'transparent'
  readonly services: readonly ServiceModel[]
  readonly callers: readonly (readonly Principal[] | 'everyone')[]
  readonly egress: readonly { readonly name: string; readonly protocol: EgressPart['protocol'] }[]
  readonly hasDns: boolean
  readonly hasExtension: boolean
}

const serviceModel: fc.Arbitrary<ServiceModel> = fc.record({
  namespace: fc.constantFrom('bank' as const, 'shop' as const),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  port: fc.constantFrom(80, 8080),
  protocol,
  isServed: fc.boolean(),
  isDenied: fc.boolean(),
  allow: fc.array(fc.record({ match: routeMatch, callers: fc.nat(3) }), { minLength: 1, maxLength: 3 }),
  match: routeMatch,
  split: fc.array(fc.record({ place: fc.nat(3), weight: count }), { maxLength: 3 }),
  retries: fc.boolean(),
})

const policyModel: fc.Arbitrary<PolicyModel> = fc.record({
  mode: fc.constantFrom('explicit' as const, 'transparent' as const),
  services: fc.uniqueArray(serviceModel, { maxLength: 5, selector: portId }),
  callers: fc.array(fc.oneof(sortedList(principal, compareText), fc.constant('everyone' as const)), {
    minLength: 1,
    maxLength: 3,
  }),
  egress: fc.uniqueArray(
    fc.record({ name: fc.constantFrom('x', 'y', 'z'), protocol: partArbitraries.egress.map((part) => part.protocol) }),
    { maxLength: 3, selector: ({ name }) => name },
  ),
  hasDns: fc.boolean(),
  hasExtension: fc.boolean(),
})

/** A valid document. */
export const proxyPolicy: fc.Arbitrary<ProxyPolicy> = fc
  .record({ model: policyModel, trust: partArbitraries.trust, mesh: partArbitraries.mesh })
  .map(({ model, trust, mesh }) => buildPolicy(model, trust, mesh))

/** Two versions of one proxy's document. */
export const policyVersions: fc.Arbitrary<readonly [ProxyPolicy, ProxyPolicy]> = fc
  .record({
    model: policyModel,
    later: policyModel,
    kept: fc.nat(5),
    trust: partArbitraries.trust,
    mesh: partArbitraries.mesh,
  })
  .map(({ model, later, kept, trust, mesh }) => {
    const services = [...model.services.slice(0, kept), ...later.services]
    const unique = [...new Map(services.map((service) => [portId(service), service])).values()]
    return [
      buildPolicy(model, trust, mesh),
      buildPolicy({ ...later, mode: model.mode, services: unique }, trust, mesh),
    ] as const
  })

function portId({ namespace, name, port }: ServiceModel): string {
  return `${namespace}/${name}|${port}`
}

/** Turns a model into a document. Addresses and target ports follow from places, so that nothing has two owners. */
function buildPolicy(model: PolicyModel, trust: PartOf<'trust'>, mesh: PartOf<'mesh'>): ProxyPolicy {
  const bag = new PartBag()
  const add = (part: Part): PartHash => bag.add(part)
  const callers = model.callers.map((list, place) => add(principalsPart(list, place)))
  const explicit = model.mode === 'explicit'
  const listen = (port: number) => (explicit ? { listen: { address: '127.0.0.9', port } } : {})
  const inbound = model.services
    .flatMap((service, place) => {
      if (!service.isServed || service.namespace !== 'shop') return []
      const part = inboundPart(service, place, callers)
      return [
        {
          part: add(part),
          id: part.id,
          local: { address: '127.0.0.1', port: part.targetPort },
          ...listen(20_000 + place),
        },
      ]
    })
    .sort((a, b) => compareText(a.id, b.id))
  const outbound = model.services.map((_, place) => outboundPart(model.services, place))
  const upstreams = model.services.map(upstreamPart)
  const egress = model.egress.map(({ name, protocol: spoken }, place) => egressPart(name, spoken, 30_000 + place))
  const outside = model.egress.map(({ name, protocol: spoken }, place) => outsideUpstream(name, spoken, 30_000 + place))
  const hasCalls = model.services.length > 0
  const rules = clientRules(model, outbound)
  const proxy: ProxyPart = {
    kind: 'proxy',
    id: '9f1a4f6e-3f0f-4a55-8c3b-0a4e0a8f6d11' as ProxyUUID,
    identity: 'till.shop' as ServiceIdentity,
    principal: `till.shop.${TRUST_DOMAIN}` as Principal,
    spiffeId: `spiffe://${TRUST_DOMAIN}/till/shop` as SpiffeId,
    class: 'envoy',
    mode: model.mode,
    namespace: 'shop',
    workload: { kind: 'Deployment', name: 'till', instance: 'till-1' },
    locality: { region: '', zone: '', subZone: '' },
    cluster: '',
    ipFamilies: ['IPv4'],
    addresses: ['10.1.0.1'],
    listen: explicit
      ? { outboundHttp: { address: '127.0.0.1', port: 15001 } }
      : { inbound: { address: '0.0.0.0', port: 15003 }, outbound: { address: '0.0.0.0', port: 15001 } },
    probes: [],
    inbound,
    ingress: [],
    outboundBindings: explicit
      ? outbound
          .filter((part) => part.rules.kind === 'tcp')
          .map(({ id }, place) => ({ id, listen: { address: '127.0.0.1', port: 25_000 + place } }))
          .sort((a, b) => compareText(a.id, b.id))
      : [],
    trust: add(trust),
    mesh: add(mesh),
    ...(hasCalls ? { outbound: add(setOf('outbound', outbound, add, { shop: true })) } : {}),
    ...(hasCalls || outside.length > 0 ? { upstreams: add(setOf('upstream', [...upstreams, ...outside], add)) } : {}),
    ...(hasCalls ? { endpoints: add(setOf('endpoints', upstreams.map(endpointsPart), add)) } : {}),
    ...(egress.length > 0 ? { egress: add(setOf('egress', egress, add)) } : {}),
    ...(rules === undefined ? {} : { clientRules: add(rules) }),
    ...(model.hasDns ? { dns: add(dnsPart(outbound)) } : {}),
    extensions: model.hasExtension
      ? [add({ kind: 'extension', id: 'e', class: 'envoy', type: 'test', value: { deep: [1, null, 'x'] } })]
      : [],
  }
  return bag.collect(proxy)
}

function isHttp(service: ServiceModel): boolean {
  return ['http', 'http2', 'grpc'].includes(service.protocol)
}

function upstreamId({ namespace, name }: ServiceModel, place: number): string {
  return `${namespace}/${name}|${10_000 + place}`
}

function principalsPart(list: readonly Principal[] | 'everyone', place: number): PrincipalsPart {
  const id = `callers-${place}`
  return list === 'everyone'
    ? { kind: 'principals', id, match: 'trustDomain', trustDomain: TRUST_DOMAIN }
    : { kind: 'principals', id, match: 'list', principals: list }
}

function inboundPart(service: ServiceModel, place: number, callers: readonly PartHash[]): InboundPart {
  const at = (index: number): PartHash => {
    const hash = callers[index % callers.length]
    if (hash === undefined) throw new RangeError('a model has at least one list of callers')
    return hash
  }
  const allow = service.allow.map(({ match, callers: index }) => ({ match, allow: at(index) })).sort(compareAllowRules)
  const part: InboundPart = {
    kind: 'inbound',
    id: upstreamId(service, place),
    service: { namespace: service.namespace, name: service.name },
    port: service.port,
    targetPort: 10_000 + place,
    protocol: service.protocol,
    serverNames: [`${service.name}.${service.namespace}.svc.cluster.local`],
    rules: isHttp(service)
      ? {
          kind: 'http',
          hosts: [service.name],
          allow: allow.filter(
            (rule, index) => allow.findIndex((other) => compareAllowRules(other, rule) === 0) === index,
          ),
          routeLimits: [],
        }
      : { kind: 'tcp', allow: at(service.allow[0]?.callers ?? 0) },
  }
  return service.isDenied ? denyForm(part) : part
}

function outboundPart(services: readonly ServiceModel[], place: number): PartOf<'outbound'> {
  // The place is one of the list.
  const service = services[place] as ServiceModel
  const peers = services.flatMap((other, index) =>
    isHttp(other) === isHttp(service) ? [upstreamId(other, index)] : [],
  )
  const shares = new Map(
    [{ place: peers.indexOf(upstreamId(service, place)), weight: 1 }, ...service.split].map((share) => [
      peers[share.place % peers.length] ?? '',
      share.weight,
    ]),
  )
  const targets = [...shares]
    .map(([upstream, weight]) => ({ upstream, weight }))
    .sort((a, b) => compareText(a.upstream, b.upstream))
  return {
    kind: 'outbound',
    id: portId(service),
    service: { namespace: service.namespace, name: service.name },
    port: service.port,
    protocol: service.protocol,
    addresses: [`10.2.0.${place}`],
    hosts: [`${service.name}.${service.namespace}`, `${service.name}.${service.namespace}.svc`],
    shortHost: service.name,
    rules: isHttp(service)
      ? {
          kind: 'http',
          routes: [
            { match: service.match, targets, timeoutMs: 0 },
            { match: {}, targets, timeoutMs: 0 },
          ],
        }
      : { kind: 'tcp', targets },
  }
}

function upstreamPart(service: ServiceModel, place: number): PartOf<'upstream'> {
  return {
    kind: 'upstream',
    id: upstreamId(service, place),
    service: { namespace: service.namespace, name: service.name },
    port: 10_000 + place,
    protocol: service.protocol,
    tls: {
      mode: 'mesh',
      serverName: `${service.name}.${service.namespace}.svc.cluster.local`,
      principals: [`${service.name}.${service.namespace}.${TRUST_DOMAIN}` as Principal],
    },
    discovery: { kind: 'endpoints' },
    loadBalancing: { policy: 'round-robin' },
  }
}

function endpointsPart({ id, port }: PartOf<'upstream'>): PartOf<'endpoints'> {
  const locality = { region: '', zone: '', subZone: '' }
  const endpoint = { address: '10.1.0.2', port, weight: 1, priority: 0, locality, cluster: '' }
  return { kind: 'endpoints', id, endpoints: [endpoint] }
}

function egressPart(name: string, spoken: EgressPart['protocol'], port: number): EgressPart {
  const targets = [{ upstream: `${name}.example:${port}`, weight: 100 }]
  const host = `${name}.example`
  return {
    kind: 'egress',
    id: name,
    port,
    protocol: spoken,
    hosts: spoken === 'http' ? [host] : [],
    serverNames: spoken === 'https' ? [host] : [],
    cidrs: [],
    routes: spoken === 'http' ? [{ match: {}, targets, timeoutMs: 0 }] : [],
    targets: spoken === 'http' ? [] : targets,
  }
}

function outsideUpstream(name: string, spoken: EgressPart['protocol'], port: number): PartOf<'upstream'> {
  return {
    kind: 'upstream',
    id: `${name}.example:${port}`,
    port,
    protocol: spoken,
    tls: { mode: 'none' },
    discovery: { kind: 'dns', host: `${name}.example`, port },
    loadBalancing: { policy: 'round-robin' },
  }
}

function clientRules(
  { services }: PolicyModel,
  outbound: readonly PartOf<'outbound'>[],
): PartOf<'clientRules'> | undefined {
  const retries = outbound
    .filter((_, place) => services[place]?.retries)
    .map(({ id }) => ({ outbound: id, policy: { retryOn: ['5xx'], numRetries: 1 } }))
    .sort((a, b) => compareText(a.outbound, b.outbound))
  if (retries.length === 0) return undefined
  const id = 'till.shop' as ServiceIdentity
  return { kind: 'clientRules', id, retries, preFilters: [], egressCredentials: [], gateways: [] }
}

function dnsPart(outbound: readonly PartOf<'outbound'>[]): PartOf<'dns'> {
  const records = new Map(outbound.flatMap(({ hosts, addresses }) => hosts.map((name) => [name, addresses] as const)))
  return {
    kind: 'dns',
    id: 'dns',
    ttlSeconds: 5,
    records: [...records].map(([name, addresses]) => ({ name, addresses })).sort((a, b) => compareText(a.name, b.name)),
    upstreamServers: ['10.96.0.10'],
  }
}

/** One nested set per namespace, as hosts build them; parts outside the mesh are in the outer set. */
function setOf(
  of: SetMemberKind,
  members: readonly Extract<Part, { readonly kind: SetMemberKind }>[],
  add: (part: Part) => PartHash,
  shortNames: Readonly<Record<string, boolean>> = {},
): SetPart {
  const refs = members.map((part) => ({ id: part.id, hash: add(part) })).sort((a, b) => compareText(a.id, b.id))
  const namespaces = [...new Set(refs.filter(({ id }) => id.includes('/')).map(({ id }) => id.split('/')[0] ?? ''))]
  return {
    kind: 'set',
    id: of,
    of,
    members: refs.filter(({ id }) => !id.includes('/')),
    sets: namespaces.sort(compareText).map((namespace) => {
      const inner: SetPart = {
        kind: 'set',
        id: `${of}/${namespace}`,
        of,
        members: refs.filter(({ id }) => id.startsWith(`${namespace}/`)),
        sets: [],
      }
      return { id: inner.id, hash: add(inner), ...(shortNames[namespace] === true ? { shortNames: true } : {}) }
    }),
  }
}
