import type { Instance, ProviderAnswer, ServiceInstances } from '@osm-ts/endpoints-api'

import { nameKey } from '../../namespaced-name.js'
import { objectRef, type KindMap } from '../../spec/objects.js'
import type { Problem } from '../../problem.js'
import type { Snapshot } from '../../snapshot/snapshot.js'
import { isAddress } from '../../spec/addresses.js'
import type { EndpointsErrorCode } from '../error-codes.js'
import { localityOf } from '../endpoint.js'
import type { AnswerFault } from './check-answer.js'
import { PluginEndpointsProvider, type PluginEndpointsOptions } from './plugin-endpoints-provider.js'

type ExternalWorkload = KindMap['ExternalWorkload']

/** Name of the provider. */
export const EXTERNAL_WORKLOADS = 'external-workloads'
/** Endpoints by ExternalWorkloads of one namespace, so that a tenant cannot displace those of others. */
const MAX_PER_NAMESPACE = 1_000
const MAX_IN_ALL = 10_000

/** An ExternalWorkload behind one Service. */
interface Placement {
  readonly service: { readonly namespace: string; readonly name: string }
  readonly workload: ExternalWorkload
}

/**
 * The built-in provider of machines and processes that are written down one by one. Its objects are those of the mesh specification, so that it needs no process; what it
 * publishes passes the same checks as the answer of a plug-in.
 */
export class ExternalWorkloads {
  readonly provider: PluginEndpointsProvider
  readonly #options: Omit<PluginEndpointsOptions, 'id'>
  #beyond: readonly Placement[] = []

  constructor(options: Omit<PluginEndpointsOptions, 'id'>) {
    this.#options = options
    this.provider = new PluginEndpointsProvider({ ...options, id: EXTERNAL_WORKLOADS, maxServices: MAX_IN_ALL })
  }

  /** Publishes what is written down now and whenever it changes. The result ends it. */
  start(): () => void {
    this.#publish(this.#options.current())
    return this.#options.subscribe(({ snapshot, changed }) => {
      if (changed.some((key) => key.startsWith('ExternalWorkload/') || key.startsWith('Service/')))
        this.#publish(snapshot)
    })
  }

  /** What is wrong with the objects, beyond what the specification says of them. */
  problems(): readonly Problem[] {
    const snapshot = this.#options.current()
    const found = this.provider.state().faults.flatMap((fault): readonly Problem[] => {
      const { code, message, service, instance } = fault
      const object = service && instance && snapshot.get('ExternalWorkload', service.namespace, instance)
      return object === undefined || object === ''
        ? [{ code, severity: 'warning', message }]
        : [{ ...problemOf(object, code, message), ...fieldOf(fault) }]
    })
    const beyond = [...new Set(this.#beyond.map(({ workload }) => workload))].map((workload) =>
      problemOf(
        workload,
        'OSM_ENDPOINTS_BOUND',
        `a namespace may have ${MAX_PER_NAMESPACE} endpoints by ExternalWorkloads, and a mesh ${MAX_IN_ALL}; this one exceeds the bound for some of its Services`,
      ),
    )
    return [...found, ...beyond]
  }

  #publish(snapshot: Snapshot): void {
    const { within, beyond } = bounded(snapshot.list('ExternalWorkload').flatMap((it) => placementsOf(snapshot, it)))
    this.#beyond = beyond
    this.provider.publish(answerOf(within))
  }
}

function placementsOf(snapshot: Snapshot, workload: ExternalWorkload): readonly Placement[] {
  const { namespace, labels } = workload.metadata
  const { service } = workload.spec
  if (service !== undefined) return [{ service: { namespace, name: service }, workload }]
  return snapshot
    .servicesSelecting(namespace, labels)
    .map(({ metadata: { name } }) => ({ service: { namespace, name }, workload }))
}

/** The first placements of each namespace, and of all as many as there may be: the first of every namespace before the second of any. */
function bounded(placements: readonly Placement[]): {
  readonly within: readonly Placement[]
  readonly beyond: readonly Placement[]
} {
  const counts = new Map<string, number>()
  const ranked = placements.map((placement) => {
    const { namespace } = placement.service
    const rank = counts.get(namespace) ?? 0
    counts.set(namespace, rank + 1)
    return { placement, rank }
  })
  const fair = placements.length > MAX_IN_ALL ? ranked.toSorted((a, b) => a.rank - b.rank) : ranked
  const within = fair.filter(({ rank }) => rank < MAX_PER_NAMESPACE).slice(0, MAX_IN_ALL)
  const isWithin = new Set(within)
  return {
    within: within.map(({ placement }) => placement),
    beyond: ranked.filter((it) => !isWithin.has(it)).map(({ placement }) => placement),
  }
}

function answerOf(placements: readonly Placement[]): ProviderAnswer {
  const services = new Map<string, ServiceInstances & { readonly instances: Instance[] }>()
  for (const { service, workload } of placements) {
    const instance = instanceOf(workload)
    const entry = services.get(nameKey(service)) ?? { service, instances: [] }
    services.set(nameKey(service), entry)
    if (instance !== undefined) entry.instances.push(instance)
  }
  return { services: [...services.values()] }
}

function instanceOf({ metadata, spec }: ExternalWorkload): Instance | undefined {
  const { serviceAccount, weight, ready, ports, sidecar, network } = spec
  // The specification reports other texts.
  const addresses = spec.addresses.filter(isAddress)
  if (addresses.length === 0) return undefined
  return {
    id: metadata.name,
    addresses,
    ready,
    weight,
    ports: ports.filter(({ name }, index) => ports.findIndex((it) => it.name === name) === index),
    serviceAccount,
    locality: localityOf(metadata.labels),
    ...(sidecar !== undefined && { sidecar: sidecar.class === undefined ? {} : { class: sidecar.class } }),
    ...(network !== undefined && { network }),
  }
}

function problemOf(workload: ExternalWorkload, code: EndpointsErrorCode, message: string): Problem {
  return { code, severity: 'error', message, object: objectRef(workload), origin: workload.origin }
}

function fieldOf({ code, ofGateway }: AnswerFault): Pick<Problem, 'field'> {
  if (code !== 'OSM_ENDPOINTS_ADDRESS') return {}
  return { field: ofGateway === true ? 'spec.network.gateway.address' : 'spec.addresses' }
}
