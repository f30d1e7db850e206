import { formatObjectRef, proxyKeyOfInstance } from '@osm-ts/core'
import type { MeshService, Principal } from '@osm-ts/driver-api'
import type {
  ConnectionShares,
  InboundPart,
  OutboundPart,
  OutboundRoute,
  PartHash,
  ProxyPolicy,
  WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { formatPercent } from '../output/format.js'
import { membersOf, partOf } from '../proxy/find-parts.js'
import { describeChanges, describeMatch } from '../proxy/policy-summary.js'
import type { MeshModel } from '../spec/load-mesh-model.js'

/** A kind of request that a caller may make. */
export interface Access {
  /** `<namespace>/<service account>`, the name in another certificate, or `any identity of <trust domain>`. */
  readonly caller: string
  /** `<namespace>/<service>:<port>` */
  readonly destination: string
  readonly protocol: InboundPart['protocol']
  /** Path, methods and headers in words. */
  readonly request: string
  /** Objects that allow it, and fields of them. */
  readonly allowedBy: readonly string[]
}

/** Where a kind of request goes. */
export interface Route {
  /** `<namespace>/<service account>` of the caller. */
  readonly caller: string
  /** `<namespace>/<service>:<port>`, or hosts and port outside the mesh. */
  readonly destination: string
  readonly request: string
  /** Upstreams and their shares. */
  readonly targets: string
}

/** What a mesh lets its workloads do, by keys under which two meshes can be compared. */
export interface MeshFacts {
  readonly access: ReadonlyMap<string, Access>
  readonly routes: ReadonlyMap<string, Route>
  /** Version of the policy by proxy: `<namespace>/<instance>`. */
  readonly versions: ReadonlyMap<string, string>
}

/** Reads the policies of all proxies of a mesh. Replicas with one policy are read once. */
export function meshFacts({ snapshot, catalog }: Pick<MeshModel, 'snapshot' | 'catalog'>): MeshFacts {
  const facts = new FactsBuilder((part) =>
    catalog.originsOf(part).map(({ object, field }) => [formatObjectRef(object), field].filter(Boolean).join(' ')),
  )
  for (const instance of snapshot.list('WorkloadInstance')) {
    const policy = catalog.policyDocument(proxyKeyOfInstance(instance))
    const { namespace, name } = instance.metadata
    if (policy !== undefined)
      facts.add(`${namespace}/${name}`, `${namespace}/${instance.spec.serviceAccountName}`, policy)
  }
  return facts
}

class FactsBuilder implements MeshFacts {
  readonly access = new Map<string, Access>()
  readonly routes = new Map<string, Route>()
  readonly versions = new Map<string, string>()
  readonly #originsOf: (part: PartHash) => readonly string[]
  /** Parts are shared by proxies: what was read of one holds for all. */
  readonly #read = new Set<string>()

  constructor(originsOf: (part: PartHash) => readonly string[]) {
    this.#originsOf = originsOf
  }

  add(proxy: string, account: string, policy: ProxyPolicy): void {
    this.versions.set(proxy, policy.version)
    for (const { part } of policy.proxy.inbound) if (this.#isNew(part)) this.#addInbound(policy, part)
    if (this.#isNew(`${account} ${policy.proxy.outbound ?? ''} ${policy.proxy.egress ?? ''}`))
      this.#addRoutes(account, policy)
  }

  #isNew(key: string): boolean {
    if (this.#read.has(key)) return false
    this.#read.add(key)
    return true
  }

  #addInbound(policy: ProxyPolicy, hash: PartHash): void {
    const part = partOf(policy, 'inbound', hash)
    if (part === undefined || part.rules.kind === 'deny') return
    const rules =
      part.rules.kind === 'tcp'
        ? [{ request: 'any connection', allow: part.rules.allow }]
        : part.rules.allow.map(({ match, allow }) => ({ request: describeMatch(match), allow }))
    const { protocol } = part
    const destination = nameOf(part.service, part.port)
    const allowedBy = this.#originsOf(hash)
    for (const { request, allow } of rules)
      for (const caller of callersOf(policy, allow))
        this.access.set([caller, destination, protocol, request].join('\0'), {
          caller,
          destination,
          protocol,
          request,
          allowedBy,
        })
  }

  #addRoutes(caller: string, policy: ProxyPolicy): void {
    const add = (route: Omit<Route, 'caller'>): void => {
      const { destination, request } = route
      this.routes.set([caller, destination, request].join('\0'), { caller, ...route })
    }
    for (const part of membersOf(policy, 'outbound', policy.proxy.outbound))
      for (const route of routesOf(part)) add(route)
    for (const { protocol, port, hosts, serverNames, cidrs } of membersOf(policy, 'egress', policy.proxy.egress)) {
      const names = [...hosts, ...serverNames, ...cidrs].join(', ') || 'any address'
      add({ destination: `${names} port ${port}`, request: protocol, targets: 'outside the mesh' })
    }
  }
}

function routesOf(part: OutboundPart): readonly Omit<Route, 'caller'>[] {
  const destination = nameOf(part.service, part.port)
  return part.rules.kind === 'tcp'
    ? [
        ...(part.rules.serverNameRoutes ?? []).map((route) => ({
          destination,
          request: `TLS for ${route.serverNames.join(', ')}`,
          targets: sharesOf([...route.targets, ...closedShare(route)]),
        })),
        {
          destination,
          request: 'any connection',
          targets: sharesOf([...part.rules.targets, ...closedShare(part.rules)]),
        },
      ]
    : part.rules.routes.map((route) => ({
        destination,
        request: describeMatch(route.match),
        targets: routeEnd(route),
      }))
}

function closedShare({ errorWeight = 0 }: ConnectionShares): readonly WeightedUpstream[] {
  return errorWeight > 0 ? [{ upstream: 'closed', weight: errorWeight }] : []
}

function routeEnd(route: OutboundRoute): string {
  const { targets, errorWeight = 0, errorStatus } = route
  const errors = errorWeight > 0 ? [{ upstream: `error ${errorStatus ?? 500}`, weight: errorWeight }] : []
  return [sharesOf([...targets, ...errors]), describeChanges(route)].filter((text) => text !== '').join('; ')
}

function sharesOf(targets: readonly WeightedUpstream[]): string {
  const sum = targets.reduce((total, { weight }) => total + weight, 0)
  if (sum === 0) return 'nowhere'
  return targets
    .map(({ upstream, weight }) => `${upstream.replace('|', ':')} ${formatPercent(weight / sum)}`)
    .join(', ')
}

function callersOf(policy: ProxyPolicy, allow: PartHash): readonly string[] {
  const part = partOf(policy, 'principals', allow)
  if (part === undefined) return []
  if (part.match === 'trustDomain') return [`any identity of ${part.trustDomain}`]
  return part.principals.map((principal) => callerName(principal, policy))
}

/** A principal of the mesh is `<account>.<namespace>.<trust domain>`; namespaces have no dots. */
function callerName(principal: Principal, { proxy }: ProxyPolicy): string {
  const trustDomain = /^spiffe:\/\/(?<domain>[^/]+)\//.exec(proxy.spiffeId)?.groups?.['domain'] ?? ''
  const suffix = `.${trustDomain}`
  if (trustDomain === '' || !principal.endsWith(suffix)) return principal
  const name = principal.slice(0, -suffix.length)
  const dot = name.lastIndexOf('.')
  return dot < 1 ? principal : `${name.slice(dot + 1)}/${name.slice(0, dot)}`
}

function nameOf({ namespace, name }: MeshService, port: number): string {
  return `${namespace}/${name}:${port}`
}
