import { allowing, namedHeaders } from './access.js'
import { decideEgress, type EgressQuestion, type EgressVerdict } from './egress.js'
import { removedHeaders } from './identity-headers.js'
import { serviceNamed } from './mesh-names.js'
import { Objects, type OracleObject, type Ref, shown } from './objects.js'
import { type OutsideQuestion, type OutsideVerdict, admit } from './outside.js'
import { readTarget } from './request-target.js'
import type { HttpRequest, ReadRequest } from './route-match.js'
import { type Place, isServed, places, placesBehind, portOf, readsRequests } from './services.js'

/** What the oracle is asked: may this caller send this to that service? */
export interface Question {
  /** Service account of the caller. */
  readonly from: Ref
  /** Service that is called. */
  readonly to: Ref
  readonly port: number
  /** Absent: the question is about a TCP connection. */
  readonly request?: HttpRequest
}

/** One of the accounts that a request may end up at. */
export interface Destination {
  readonly service: Ref
  readonly account: Ref
  /** False for workloads that are spoken to in plaintext: they see the request as it was sent, and no path is refused. */
  readonly hasSidecar: boolean
  readonly allowed: boolean
  /** What allows it. */
  readonly by?: string
  /** Headers of the request that the workload does not get, in lower case. */
  readonly removedHeaders?: readonly string[]
}

/** What becomes of a request. */
export interface Verdict {
  /**
   * `allow`: wherever it ends up it is let in. `deny`: nowhere is. `depends`: on where it ends up. `refuse`: its path is answered 400 wherever the
   * service is served. `nowhere`: there is no one to answer.
   */
  readonly outcome: 'allow' | 'deny' | 'depends' | 'refuse' | 'nowhere'
  readonly destinations: readonly Destination[]
  readonly reason: string
  /** Path and query as servers with a sidecar get them. */
  readonly target?: string
}

/** How a mesh differs from the usual one. */
export interface OracleOptions {
  /** Namespaces that take part; all by default. */
  readonly participates?: (namespace: string) => boolean
  /** True if trust domain and cluster domain are the same, as they usually are. */
  readonly oneDomain?: boolean
  /** `cluster.local` by default. */
  readonly clusterDomain?: string
  /** Namespace of the control plane; `osm-system` by default. */
  readonly controlPlane?: string
}

const ACCOUNT = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Says what the policies of a mesh mean for a request. */
export class Oracle {
  readonly #objects: Objects
  readonly #permissive: boolean
  /** True if headers whose names differ from those of rules in underscores alone get through. */
  readonly #keepsSpellings: boolean
  /** True if paths with escaped slashes get through. */
  readonly #keepsSlashes: boolean
  readonly #oneDomain: boolean
  readonly #clusterDomain: string

  constructor(
    objects: readonly OracleObject[],
    {
      participates = () => true,
      oneDomain = true,
      clusterDomain = 'cluster.local',
      controlPlane = 'osm-system',
    }: OracleOptions = {},
  ) {
    // The configuration of the mesh, and policies for every namespace, lie in the namespace of the control plane, which takes no part.
    const spoken = ['Egress', 'HTTPRouteGroup']
    this.#objects = new Objects(
      objects.filter(
        ({ kind, metadata: { namespace = 'default' } }) =>
          kind === 'MeshConfig' || (namespace === controlPlane && spoken.includes(kind)) || participates(namespace),
      ),
      controlPlane,
    )
    const traffic = this.#objects.list('MeshConfig').map(({ spec }) => spec.traffic)
    this.#permissive = traffic.some((each) => each?.enablePermissiveTrafficPolicyMode === true)
    this.#keepsSpellings = traffic.some((each) => each?.keepUnderscoreHeaders === true)
    this.#keepsSlashes = traffic.some((each) => each?.escapedSlashes === 'Keep')
    this.#oneDomain = oneDomain
    this.#clusterDomain = clusterDomain
  }

  decide({ from, to, port: number, request }: Question): Verdict {
    const service = this.#objects.find('Service', to)
    const port = service && portOf(service, number)
    if (service === undefined || port === undefined)
      return nowhere(`there is no port ${number} of Service ${shown(to)}`)
    if (!isServed(this.#objects, service)) return nowhere(`Service ${shown(to)} is outside the mesh`)
    if (!this.#canHoldCertificate(from)) return nowhere(`${shown(from)} can hold no certificate`)
    const reads = readsRequests(port) && request !== undefined
    const target = reads ? readTarget(request.target, this.#keepsSlashes) : undefined
    const read =
      target === undefined || request === undefined
        ? undefined
        : { ...request, ...(target.refused ? { path: sentPath(request.target) } : target) }
    const found = places(this.#objects, service, port, read).filter(({ service: { namespace }, account }) =>
      this.#canHoldCertificate({ namespace, name: account }),
    )
    // Sidecars of the called side refuse paths. Where there is none, no one does.
    if (target?.refused === true && !found.some((place) => !place.hasSidecar && this.#isReachable(place)))
      return { outcome: 'refuse', destinations: [], reason: `the path is refused: ${target.reason}` }
    if (found.length === 0) return nowhere(`Service ${shown(to)} has no endpoints`)
    if (!found.some((place) => this.#isReachable(place)))
      return nowhere(`no workload behind Service ${shown(to)} has a sidecar`)
    // While some workloads behind a service have sidecars, those without get nothing.
    const destinations = found
      .filter((place) => this.#isReachable(place) || !found.some((other) => this.#isInstead(other, place)))
      .map((place) => {
        const destination = this.#judge(from, place, read)
        return target?.refused === true && place.hasSidecar ? { ...destination, allowed: false } : destination
      })
    return {
      outcome: outcomeOf(destinations),
      destinations,
      reason: destinations.map(describe).join('; '),
      ...(target === undefined || target.refused ? {} : { target: `${target.path}${target.query}` }),
    }
  }

  /** Says what becomes of traffic to a destination outside the mesh. */
  decideEgress(question: EgressQuestion): EgressVerdict {
    return this.#canHoldCertificate(question.from)
      ? decideEgress(this.#objects, question, this.#clusterDomain)
      : { outcome: 'deny', reason: `${shown(question.from)} can hold no certificate`, by: [] }
  }

  /** Says what becomes of a request of a caller from outside the mesh. No TrafficSplit concerns it, and permissive mode alone opens nothing to it. */
  decideOutside({ caller, to, port: number, request }: OutsideQuestion): OutsideVerdict {
    const service = this.#objects.find('Service', to)
    const port = service && portOf(service, number)
    const ends = (outcome: OutsideVerdict['outcome'], reason: string): OutsideVerdict => ({
      outcome,
      reasons: [reason],
      by: [],
    })
    if (!isServed(this.#objects, service) || port === undefined)
      return ends('nowhere', `there is no port ${number} of Service ${shown(to)}`)
    const target = readTarget(request.target, this.#keepsSlashes)
    if (target.refused) return ends('refuse', `the path is refused: ${target.reason}`)
    const found = placesBehind(this.#objects, service, port).filter(({ account }) =>
      this.#canHoldCertificate({ namespace: service.namespace, name: account }),
    )
    const targetPorts = [...new Set(found.map(({ targetPort }) => targetPort))]
    if (targetPorts.length === 0) return ends('nowhere', `Service ${shown(to)} has no endpoints`)
    if (this.#allowsPlaintext(service.namespace))
      return { outcome: 'allow', reasons: [`plaintextNamespaces names ${service.namespace}`], by: [] }
    const read = { ...request, ...target }
    const admissions = targetPorts.map((targetPort) => admit(this.#objects, caller, service, targetPort, read))
    return {
      outcome: outcomeOf(admissions),
      reasons: [...new Set(admissions.flatMap(({ reasons }) => reasons))],
      by: admissions.flatMap(({ by }) => by),
    }
  }

  /** The service of the mesh that a host names to callers in a namespace; undefined for hosts outside. */
  serviceNamed(host: string, namespace: string): Ref | undefined {
    return serviceNamed(this.#objects, host, namespace, this.#clusterDomain)
  }

  #judge(from: Ref, place: Place, request: ReadRequest | undefined): Destination {
    const { service } = place
    const account = { namespace: service.namespace, name: place.account }
    const { hasSidecar } = place
    if (!this.#isReachable(place)) return { service, account, hasSidecar, allowed: false }
    const target = this.#permissive ? undefined : allowing(this.#objects, from, place, request)
    if (!this.#permissive && target === undefined) return { service, account, hasSidecar, allowed: false }
    const by = target === undefined ? 'permissive mode' : `TrafficTarget ${shown(target)}`
    const named = this.#permissive || this.#keepsSpellings ? [] : namedHeaders(this.#objects, place)
    const removed = hasSidecar && request !== undefined ? removedHeaders(Object.keys(request.headers), named) : []
    return {
      service,
      account,
      hasSidecar,
      allowed: true,
      by,
      ...(removed.length > 0 ? { removedHeaders: removed } : {}),
    }
  }

  /** Without a sidecar a workload is reached where plaintext is allowed. */
  #isReachable({ hasSidecar, service }: Place): boolean {
    return hasSidecar || this.#allowsPlaintext(service.namespace)
  }

  #isInstead(other: Place, { service }: Place): boolean {
    return other.service.name === service.name && this.#isReachable(other)
  }

  /** The configuration names namespaces where a missing sidecar means plaintext. Under SMI policy it never does. */
  #allowsPlaintext(namespace: string): boolean {
    const named = this.#objects.list('MeshConfig').flatMap(({ spec }) => spec.traffic?.plaintextNamespaces ?? [])
    return this.#permissive && (named.includes(namespace) || named.includes('*'))
  }

  /** An account whose principal would be the name of a service gets no certificate. */
  #canHoldCertificate({ namespace, name }: Ref): boolean {
    const readsAsService = this.#oneDomain && namespace === 'svc' && name.split('.').length === 2
    return ACCOUNT.test(name) && !readsAsService
  }
}

function sentPath(target: HttpRequest['target']): string {
  const [path = ''] = (typeof target === 'string' ? target : Buffer.from(target).toString('latin1')).split('?')
  return path
}

function nowhere(reason: string): Verdict {
  return { outcome: 'nowhere', destinations: [], reason }
}

function outcomeOf(destinations: readonly Pick<Destination, 'allowed'>[]): Verdict['outcome'] {
  if (destinations.every(({ allowed }) => allowed)) return 'allow'
  return destinations.some(({ allowed }) => allowed) ? 'depends' : 'deny'
}

function describe({ account, service, by }: Destination): string {
  const where = `workloads of ${shown(account)} behind Service ${shown(service)}`
  return by === undefined ? `nothing lets it in to ${where}` : `${by} lets it in to ${where}`
}
