import { isIP } from 'node:net'

import {
  isMonitored,
  type BoundaryRule,
  type EgressQuestion,
  type KindMap,
  type OutsideCaller,
  portProtocol,
} from '@osm-ts/core'
import type { ServiceAccountRef } from '@osm-ts/driver-api'

import type { CalledHost, CalledService, NamedThing } from '../policy-question.js'
import type { MeshModel } from './load-mesh-model.js'

/** A request that is asked about. */
export type HttpRequest = EgressQuestion['request']

/** One way in which a destination can be reached, and what becomes of it. */
export interface WayAnswer {
  /** In words. */
  readonly way: string
  readonly allowed: boolean
  readonly reasons: readonly string[]
  /** What allows it. */
  readonly rules: readonly BoundaryRule[]
}

/** The answer about traffic that leaves the mesh, or comes from outside. */
export interface BoundaryAnswer {
  readonly allowed: boolean
  /** In one sentence. */
  readonly reason: string
  /** Ways that were looked at; the last one is the one that is allowed, if any is. */
  readonly ways: readonly WayAnswer[]
}

type Loaded = Pick<MeshModel, 'snapshot' | 'catalog' | 'catalogAssuming' | 'enrolment' | 'clusterDomain'>
type Protocol = NonNullable<CalledHost['protocol']>

const HTTP_PORT = 80
const HTTPS_PORT = 443

/** Answers what may leave a mesh and come into it, by the policies that sidecars get. */
export class Boundary {
  readonly #loaded: Loaded

  constructor(loaded: Loaded) {
    this.#loaded = loaded
  }

  /** The service that a host name stands for where callers of the namespace request it; undefined for hosts outside. */
  serviceNamed(host: string, namespace: string): NamedThing | undefined {
    return this.#loaded.catalog.decisions.serviceCalled(host, namespace)
  }

  /** May this workload reach that destination outside the mesh? Without a protocol, that of the port is checked first, then any connection. */
  askEgress(
    from: ServiceAccountRef,
    { protocol: said, host, port: written }: CalledHost,
    request: HttpRequest,
  ): BoundaryAnswer {
    if (!isParticipant(this.#loaded, from.namespace))
      return answered([], `namespace ${from.namespace} of the caller is not part of the mesh`)
    const port = written ?? (said === 'https' ? HTTPS_PORT : HTTP_PORT)
    const protocols: readonly Protocol[] = said === undefined ? [port === HTTPS_PORT ? 'https' : 'http', 'tcp'] : [said]
    const ways: WayAnswer[] = []
    for (const protocol of protocols) {
      const { allowed, reasons, by } = this.#loaded.catalog.decisions.egress({ from, host, port, protocol, request })
      ways.push({ way: `${protocol} to ${host} port ${port}`, allowed, reasons, rules: by })
      if (allowed) break
    }
    return answered(ways)
  }

  /** May this workload reach that Service outside the mesh, by any of its names or addresses? What the Service says of the port decides how. */
  askOutsideService(
    from: ServiceAccountRef,
    { metadata: { namespace, name }, spec }: KindMap['Service'],
    written: number | undefined,
    request: HttpRequest,
  ): BoundaryAnswer {
    const ports = spec.ports.filter(({ protocol }) => protocol === 'TCP').toSorted((a, b) => a.port - b.port)
    const port = written === undefined ? ports[0] : ports.find((candidate) => candidate.port === written)
    if (port === undefined)
      return answered([], `Service ${namespace}/${name} has no TCP port ${written ?? ''}`.trimEnd())
    const { protocol: spoken } = portProtocol(port)
    const protocol = spoken === 'https' ? 'https' : spoken.startsWith('tcp') ? 'tcp' : 'http'
    const hosts = [
      `${name}.${namespace}`,
      `${name}.${namespace}.svc`,
      `${name}.${namespace}.svc.${this.#loaded.clusterDomain}`,
    ]
    const addresses = [...new Set([spec.clusterIP ?? '', ...(spec.clusterIPs ?? [])])].filter(
      (address) => isIP(address) !== 0,
    )
    const answers = [
      ...(protocol === 'tcp'
        ? []
        : hosts.map((host) => ({ kind: 'outside', protocol, host, port: port.port }) as const)),
      ...addresses.map((host) => ({ kind: 'outside', protocol: 'tcp', host, port: port.port }) as const),
    ].map((called) => this.askEgress(from, called, request))
    const ways = answers.flatMap((answer) => answer.ways)
    const why = `Service ${namespace}/${name} is outside the mesh, and no Egress allows it`
    return ways.some(({ allowed }) => allowed) ? answered(ways) : answered(ways, answers[0]?.reason ?? why)
  }

  /** May this caller from outside reach that service of the mesh? */
  askOutside(caller: OutsideCaller, to: CalledService, request: HttpRequest): BoundaryAnswer {
    const named = `${to.namespace}/${to.name}`
    const ports = this.#loaded.snapshot.get('Service', to.namespace, to.name)?.spec.ports ?? []
    const lowest = ports.map(({ port }) => port).sort((a, b) => a - b)[0]
    const port = to.port ?? lowest
    if (port === undefined) return answered([], `there is no Service ${named} with a port in the mesh`)
    const { allowed, reasons, by } = this.#catalogFor(caller).decisions.ingress({ caller, to, port, request })
    const way = `${named} port ${port}, from outside the mesh`
    return answered([{ way, allowed, reasons, rules: by }])
  }

  /** A Service that is known and has no endpoints yet is answered for as if it had one. */
  #catalogFor({ service }: OutsideCaller): Loaded['catalog'] {
    const { catalog, catalogAssuming } = this.#loaded
    return service === undefined || catalog.listEndpointsForService(service).length > 0
      ? catalog
      : catalogAssuming(service)
  }
}

function isParticipant({ snapshot, enrolment }: Loaded, namespace: string): boolean {
  return isMonitored(snapshot, namespace, enrolment)
}

function answered(ways: readonly WayAnswer[], reason?: string): BoundaryAnswer {
  const decisive = ways.find(({ allowed }) => allowed) ?? ways[0]
  return { allowed: decisive?.allowed ?? false, reason: reason ?? decisive?.reasons.join('; ') ?? '', ways }
}
