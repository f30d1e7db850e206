import { allowing, namedHeaders } from './access.js'
import { decideEgress, type EgressQuestion, type EgressVerdict } from './egress.js'
import { connectionShares } from './connection-routes.js'
import { type Answer, type RoutedCall, type Routing, routing } from './http-routes.js'
import { isWithheld, removedHeaders } from './identity-headers.js'
import { serviceNamed } from './mesh-names.js'
import { type Known, Objects, type OracleObject, type Ref, type ServicePort, shown } from './objects.js'
import { type OutsideQuestion, type OutsideVerdict, admit } from './outside.js'
import { knows } from './reach.js'
import { mergedSlashes, readTarget, type RequestTarget } from './request-target.js'
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
  /** Of a connection: the server name that TLS asks for. */
  readonly serverName?: string
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
  /** What an HTTPRoute or a GRPCRoute makes of the request; absent without one. */
  readonly routed?: {
    /** Path and query. */
    readonly target: string
    /** Names in lower case. */
    readonly headers: Readonly<Record<string, string>>
    /** Absent: the one that was sent. */
    readonly host?: string
  }
}

/** Copies of a request, of which one goes to one of the destinations. */
export interface Copies {
  /** False for those of some requests only. */
  readonly ofAll: boolean
  readonly destinations: readonly Destination[]
}

/** What becomes of a request. */
export interface Verdict {
  /**
   * `allow`: wherever it ends up it is let in. `deny`: nowhere is. `depends`: on where it ends up. `refuse`: its path is answered 400 wherever the
   * service is served. `answer`: the sidecar of the caller answers. `nowhere`: there is no one to answer.
   */
  readonly outcome: 'allow' | 'deny' | 'depends' | 'refuse' | 'answer' | 'nowhere'
  readonly destinations: readonly Destination[]
  /** What routes of the Gateway API have the sidecar of the caller answer, to some of the requests if there are destinations; absent without routes. */
  readonly answers?: readonly Answer[]
  /** Copies of the request; absent without routes. */
  readonly copies?: readonly Copies[]
  /** When the sidecar of the caller sends the request again: after these statuses, so many times. Absent: never. */
  readonly retry?: Routing['retry']
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

  decide({ from, to, port: number, request, serverName }: Question): Verdict {
    const service = this.#objects.find('Service', to)
    const port = service && portOf(service, number)
    if (service === undefined || port === undefined)
      return nowhere(`there is no port ${number} of Service ${shown(to)}`)
    if (!isServed(this.#objects, service)) return nowhere(`Service ${shown(to)} is outside the mesh`)
    if (!this.#canHoldCertificate(from)) return nowhere(`${shown(from)} cannot have a certificate`)
    const sent = readsRequests(port) ? request : undefined
    const routed =
      sent === undefined
        ? this.#connection(from, service, port, serverName)
        : this.#request(from, service, this.#routing(from, service, port, sent))
    if (routed !== undefined) return routed
    const target = sent === undefined ? undefined : readTarget(sent.target, this.#keepsSlashes)
    const read = sent === undefined || target === undefined ? undefined : readRequest(sent, target)
    const found = this.#usable(places(this.#objects, service, port, read))
    // Sidecars of the called side refuse paths. Where there is none, no one does.
    if (target?.refused === true && !found.some((place) => !place.hasSidecar && this.#isReachable(place)))
      return { outcome: 'refuse', destinations: [], reason: `the path is refused: ${target.reason}` }
    if (found.length === 0) return nowhere(`Service ${shown(to)} has no endpoints`)
    if (!found.some((place) => this.#isReachable(place)))
      return nowhere(`no workload behind Service ${shown(to)} has a sidecar`)
    const destinations = this.#judgeAll(from, found, read, target)
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
      : { outcome: 'deny', reason: `${shown(question.from)} cannot have a certificate`, by: [] }
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

  /** What HTTPRoutes and GRPCRoutes do with a request; undefined where none is attached to the port. */
  #routing(
    from: Ref,
    service: Known<'Service'>,
    port: ServicePort,
    { method, target, headers }: HttpRequest,
  ): Routing | undefined {
    const [path = '', ...query] = textOf(target).split('?')
    const call: RoutedCall = {
      callers: from.namespace,
      service,
      port,
      request: {
        method,
        path: mergedSlashes(path),
        query: query.length === 0 ? '' : `?${query.join('?')}`,
        headers: new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      },
      hasWorkloads: (backend, backendPort) => this.#hasWorkloads(backend, backendPort),
    }
    return routing(this.#objects, call)
  }

  /** The verdict on a request that HTTPRoutes or GRPCRoutes share out. */
  #request(from: Ref, to: Known<'Service'>, found: Routing | undefined): Verdict | undefined {
    if (found === undefined) return undefined
    const { shares, copies, retry } = found
    const answers = shares.flatMap((share) => (share.kind === 'answer' ? share.answer : []))
    const sent = shares.flatMap((share) => (share.kind === 'sent' ? share : []))
    return {
      ...this.#routed(
        from,
        to,
        sent.flatMap((share) => this.#arrivals(from, share)),
        answers,
      ),
      // A copy is of the request as the share has changed it.
      copies: copies.map(({ ofAll, ...elsewhere }) => ({
        ofAll,
        destinations: sent.flatMap((share) => this.#arrivals(from, { ...share, ...elsewhere })),
      })),
      ...(retry === undefined ? {} : { retry }),
    }
  }

  /** Where a share of requests may end up, and what it is then. */
  #arrivals(
    from: Ref,
    { service, port, request, host }: Extract<Routing['shares'][number], { readonly kind: 'sent' }>,
  ): readonly Destination[] {
    // Headers that sidecars withhold do not even reach the rule.
    const headers = Object.fromEntries([...request.headers].filter(([name]) => !isWithheld(name)))
    const arriving = { method: request.method, target: `${request.path}${request.query}`, headers }
    const target = readTarget(arriving.target, this.#keepsSlashes)
    const found = this.#usable(placesBehind(this.#objects, service, port))
    const routed = {
      target: target.refused ? arriving.target : `${target.path}${target.query}`,
      headers,
      ...(host === undefined ? {} : { host }),
    }
    return this.#judgeAll(from, found, readRequest(arriving, target), target).map((each) => ({ ...each, routed }))
  }

  /** The verdict on a connection that TCPRoutes or TLSRoutes share out; undefined where none is attached to the port. */
  #connection(
    from: Ref,
    service: Known<'Service'>,
    port: ServicePort,
    serverName: string | undefined,
  ): Verdict | undefined {
    const shares = connectionShares(this.#objects, {
      callers: from.namespace,
      service,
      port,
      ...(serverName === undefined ? {} : { serverName }),
      hasWorkloads: (backend, backendPort) => this.#hasWorkloads(backend, backendPort),
    })
    if (shares === undefined) return undefined
    const destinations = shares.flatMap((share): readonly Destination[] => {
      if (share === 'closed') return []
      const found = this.#usable(placesBehind(this.#objects, share.service, share.port))
      return this.#judgeAll(from, found, undefined, undefined)
    })
    return this.#routed(from, service, destinations, shares.includes('closed') ? [{ status: 'closed' }] : [])
  }

  /** The verdict on what routes share out between destinations and answers of the sidecar of the caller. */
  #routed(from: Ref, to: Known<'Service'>, destinations: readonly Destination[], said: readonly Answer[]): Verdict {
    // Without a route to the service the sidecar of the caller has no rule of its routes either.
    const answers = this.#permissive || knows(this.#objects, from, to) ? said : []
    if (destinations.length === 0 && answers.length === 0)
      return nowhere(`${shown(from)} may call nothing that the routes of Service ${shown(to)} lead to`)
    return {
      outcome: destinations.length === 0 ? 'answer' : outcomeOf([...destinations, ...answers.map(() => REFUSED)]),
      destinations,
      answers,
      reason: [...destinations.map(describe), ...answers.map(({ status }) => `a route answers ${status}`)].join('; '),
    }
  }

  #hasWorkloads(service: Known<'Service'>, port: ServicePort): boolean {
    return this.#usable(placesBehind(this.#objects, service, port)).length > 0
  }

  #usable(found: readonly Place[]): readonly Place[] {
    return found.filter(({ service: { namespace }, account }) => this.#canHoldCertificate({ namespace, name: account }))
  }

  #judgeAll(
    from: Ref,
    found: readonly Place[],
    request: ReadRequest | undefined,
    target: RequestTarget | undefined,
  ): readonly Destination[] {
    return (
      found
        // While some workloads behind a service have sidecars, those without get nothing.
        .filter((place) => this.#isReachable(place) || !found.some((other) => this.#isInstead(other, place)))
        .map((place) => {
          const destination = this.#judge(from, place, request)
          return target?.refused === true && place.hasSidecar ? { ...destination, allowed: false } : destination
        })
    )
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

const REFUSED = { allowed: false }

/** A request as rules of the called side see it. */
function readRequest(sent: HttpRequest, target: RequestTarget): ReadRequest {
  const [path = ''] = textOf(sent.target).split('?')
  return { ...sent, ...(target.refused ? { path } : target) }
}

function textOf(target: HttpRequest['target']): string {
  return typeof target === 'string' ? target : Buffer.from(target).toString('latin1')
}

function nowhere(reason: string): Verdict {
  return { outcome: 'nowhere', destinations: [], reason }
}

function outcomeOf(destinations: readonly Pick<Destination, 'allowed'>[]): 'allow' | 'deny' | 'depends' {
  if (destinations.every(({ allowed }) => allowed)) return 'allow'
  return destinations.some(({ allowed }) => allowed) ? 'depends' : 'deny'
}

function describe({ account, service, by }: Destination): string {
  const where = `workloads of ${shown(account)} behind Service ${shown(service)}`
  return by === undefined ? `nothing lets it in to ${where}` : `${by} lets it in to ${where}`
}
