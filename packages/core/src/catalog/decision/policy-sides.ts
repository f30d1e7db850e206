import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import type { InboundPart, OutboundPart, Part, PrincipalsPart, SetPart, UpstreamPart } from '@osm-ts/driver-api/policy'

import type { Endpoint } from '../../endpoints/index.js'
import type { PolicyComputation } from '../policy-computation.js'
import { inboundPart } from '../policy/access/inbound.js'
import { sameName, servicePortKey, type ServicePortRef } from '../policy/parts/keys.js'
import type { PolicyPart } from '../policy/parts/policy-part.js'
import { scopeOf } from '../policy/parts/reach.js'
import { rootSet, upstreamReaders } from '../policy/parts/sets.js'
import { outboundPart } from '../policy/routing/outbound.js'
import { serviceModel } from '../policy/upstreams/services.js'
import { upstreamOfPort, upstreamPart } from '../policy/upstreams/upstreams.js'

/** What the sidecars of an account do with calls to a service port. */
export interface ClientSide {
  /** False: the policy of the account does not have the part, so that its sidecars send nothing to the port. */
  readonly hasRoute: boolean
  readonly outbound: OutboundPart
  readonly upstream: (id: string) => UpstreamPart | undefined
}

/** One port that sidecars of an account serve. */
export interface ServerSide {
  readonly inbound: PolicyPart<InboundPart>
  readonly principals: (hash: string) => PrincipalsPart | undefined
}

/** What the policies of two sidecars say of each other. Parts are those that the documents of all proxies of an account are made of. */
export class PolicySides {
  readonly #computation: PolicyComputation

  constructor(computation: PolicyComputation) {
    this.#computation = computation
  }

  /** Undefined without the port. */
  client(account: ServiceAccountRef, called: ServicePortRef): ClientSide | undefined {
    const shared = this.#computation.read(outboundPart, called)
    if (shared === undefined) return undefined
    const scope = this.#computation.read(scopeOf, account) ?? account
    const setOf = (of: 'outbound' | 'upstream', readers: string): PolicyPart<SetPart> | undefined =>
      this.#computation.read(rootSet, { of, scope, readers })
    const own = memberOf<OutboundPart>(setOf('outbound', account.namespace), servicePortKey(called))
    const upstreams = setOf('upstream', this.#computation.read(upstreamReaders, account.namespace) ?? '')
    return {
      hasRoute: own !== undefined,
      outbound: own?.part ?? shared.part,
      upstream: (id) => (own === undefined ? this.#upstream(id) : memberOf<UpstreamPart>(upstreams, id)?.part),
    }
  }

  /** Undefined if the sidecars of the account let no one in at that port. */
  server(account: ServiceAccountRef, service: MeshService, targetPort: number): ServerSide | undefined {
    const port = this.#portServing(account, service, targetPort)
    const inbound =
      port === undefined ? undefined : this.#computation.read(inboundPart, { ...service, port, targetPort, account })
    if (inbound === undefined) return undefined
    const children = new Map(inbound.children.map((child) => [child.hash as string, child.part]))
    const principals = (hash: string): PrincipalsPart | undefined => {
      const part = children.get(hash)
      return part?.kind === 'principals' ? part : undefined
    }
    return { inbound, principals }
  }

  /** Ports of the workloads of an account to which an upstream leads: one, unless the port is named and they disagree. */
  targetPorts(account: ServiceAccountRef, service: MeshService, upstream: UpstreamPart): readonly number[] {
    const endpoints = this.#endpoints(account, service)
    const found = endpoints.filter(({ servicePort }) => this.#leadsTo(service, servicePort, upstream.port))
    const ports = new Set(found.map(({ targetPort }) => targetPort))
    return ports.size === 0 ? [upstream.port] : [...ports].sort((a, b) => a - b)
  }

  #upstream(id: string): UpstreamPart | undefined {
    const [name = '', port = ''] = id.split('|')
    const [namespace = '', service = ''] = name.split('/')
    return this.#computation.read(upstreamPart, { namespace, name: service, targetPort: Number(port) })?.part
  }

  /** Where several ports of a service lead to one port of the workloads, the lowest stands for all. */
  #portServing(account: ServiceAccountRef, service: MeshService, targetPort: number): number | undefined {
    const own = this.#endpoints(account, service).filter((endpoint) => endpoint.targetPort === targetPort)
    return this.#computation
      .read(serviceModel, service)
      ?.ports.find(({ port, target }) =>
        typeof target === 'number'
          ? target === targetPort
          : own.some(({ servicePort }) => servicePort === port) || this.#leadsTo(service, port, targetPort),
      )?.port
  }

  #leadsTo(service: MeshService, port: number, targetPort: number): boolean {
    return this.#computation.read(upstreamOfPort, { ...service, port })?.targetPort === targetPort
  }

  #endpoints(account: ServiceAccountRef, service: MeshService): readonly Endpoint[] {
    const known = this.#computation.state?.endpoints.listEndpointsForService(service).items ?? []
    return known.filter((endpoint) => endpoint.account !== undefined && sameName(endpoint.account, account))
  }
}

/** The member of a set, or of the sets in it, with that id. */
function memberOf<P extends Part>(set: PolicyPart<SetPart> | undefined, id: string): PolicyPart<P> | undefined {
  if (set === undefined) return undefined
  const part = (hash: string): PolicyPart | undefined => set.children.find((child) => child.hash === hash)
  const member = set.part.members.find((candidate) => candidate.id === id)
  // A set has members of its own kind alone, which the caller names.
  if (member !== undefined) return part(member.hash) as PolicyPart<P> | undefined
  for (const { hash } of set.part.sets) {
    const found = memberOf<P>(part(hash) as PolicyPart<SetPart> | undefined, id)
    if (found !== undefined) return found
  }
  return undefined
}
