import { allowing } from './access.js'
import { decideEgress, type EgressQuestion, type EgressVerdict } from './egress.js'
import { serviceNamed } from './mesh-names.js'
import { Objects, type OracleObject, type Ref, shown } from './objects.js'
import { type OutsideQuestion, type OutsideVerdict, admit } from './outside.js'
import { readTarget } from './request-target.js'
import type { HttpRequest } from './route-match.js'
import { type Place, type ReadRequest, places, placesBehind, portOf, readsRequests } from './services.js'

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
  readonly allowed: boolean
  /** What allows it. */
  readonly by?: string
}

/** What becomes of a request. */
export interface Verdict {
  /**
   * `allow`: wherever it ends up it is let in. `deny`: nowhere is. `depends`: on where it ends up. `refuse`: its path is answered 400 wherever the
   * service is served. `nowhere`: there is nobody to answer.
   */
  readonly outcome: 'allow' | 'deny' | 'depends' | 'refuse' | 'nowhere'
  readonly destinations: readonly Destination[]
  readonly reason: string
  /** Path and query as the server gets them. */
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
}

const ACCOUNT = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Says what the policies of a mesh mean for a request. */
export class Oracle {
  readonly #objects: Objects
  readonly #permissive: boolean
  readonly #oneDomain: boolean
  readonly #clusterDomain: string

  constructor(
    objects: readonly OracleObject[],
    { participates = () => true, oneDomain = true, clusterDomain = 'cluster.local' }: OracleOptions = {},
  ) {
    // The configuration of the mesh lies in the namespace of the control plane, which takes no part.
    this.#objects = new Objects(
      objects.filter(({ kind, metadata }) => kind === 'MeshConfig' || participates(metadata.namespace ?? 'default')),
    )
    this.#permissive = this.#objects
      .list('MeshConfig')
      .some(({ spec }) => spec.traffic?.enablePermissiveTrafficPolicyMode === true)
    this.#oneDomain = oneDomain
    this.#clusterDomain = clusterDomain
  }

  decide({ from, to, port: number, request }: Question): Verdict {
    const service = this.#objects.find('Service', to)
    const port = service && portOf(service, number)
    if (service === undefined || port === undefined)
      return nowhere(`there is no port ${number} of Service ${shown(to)}`)
    if (!this.#canHoldCertificate(from)) return nowhere(`${shown(from)} can hold no certificate`)
    const reads = readsRequests(port) && request !== undefined
    const target = reads ? readTarget(request.target) : undefined
    if (target?.refused === true)
      return { outcome: 'refuse', destinations: [], reason: `the path is refused: ${target.reason}` }
    const read = target === undefined || request === undefined ? undefined : { ...request, path: target.path }
    const found = places(this.#objects, service, port, read).filter(({ service: { namespace }, account }) =>
      this.#canHoldCertificate({ namespace, name: account }),
    )
    if (found.length === 0) return nowhere(`nobody is behind Service ${shown(to)}`)
    const destinations = found.map((place) => this.#judge(from, place, read))
    return {
      outcome: outcomeOf(destinations),
      destinations,
      reason: destinations.map(describe).join('; '),
      ...(target === undefined ? {} : { target: `${target.path}${target.query}` }),
    }
  }

  /** Says what becomes of traffic to a destination outside the mesh. */
  decideEgress(question: EgressQuestion): EgressVerdict {
    return this.#canHoldCertificate(question.from)
      ? decideEgress(this.#objects, question, this.#clusterDomain)
      : { outcome: 'deny', reason: `${shown(question.from)} can hold no certificate`, by: [] }
  }

  /** Says what becomes of a request of a caller from outside the mesh. No TrafficSplit concerns him, and permissive mode opens nothing to him. */
  decideOutside({ caller, to, port: number, request }: OutsideQuestion): OutsideVerdict {
    const service = this.#objects.find('Service', to)
    const port = service && portOf(service, number)
    const ends = (outcome: OutsideVerdict['outcome'], reason: string): OutsideVerdict => ({
      outcome,
      reasons: [reason],
      by: [],
    })
    if (service === undefined || port === undefined)
      return ends('nowhere', `there is no port ${number} of Service ${shown(to)}`)
    const target = readTarget(request.target)
    if (target.refused) return ends('refuse', `the path is refused: ${target.reason}`)
    const found = placesBehind(this.#objects, service, port).filter(({ account }) =>
      this.#canHoldCertificate({ namespace: service.namespace, name: account }),
    )
    const targetPorts = [...new Set(found.map(({ targetPort }) => targetPort))]
    if (targetPorts.length === 0) return ends('nowhere', `nobody is behind Service ${shown(to)}`)
    const read = { ...request, path: target.path }
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
    if (this.#permissive) return { service, account, allowed: true, by: 'permissive mode' }
    const target = allowing(this.#objects, from, place, request)
    if (target === undefined) return { service, account, allowed: false }
    return { service, account, allowed: true, by: `TrafficTarget ${shown(target)}` }
  }

  /** An account whose principal would be the name of a service gets no certificate. */
  #canHoldCertificate({ namespace, name }: Ref): boolean {
    const readsAsService = this.#oneDomain && namespace === 'svc' && name.split('.').length === 2
    return ACCOUNT.test(name) && !readsAsService
  }
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
