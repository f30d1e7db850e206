import { isDriverName } from '@osm-ts/driver-api'
import type {
  Instance,
  InstanceLocality,
  InstanceNetwork,
  InstancePort,
  InstanceSidecar,
  ServiceName,
} from '@osm-ts/endpoints-api'

import { isDnsLabel, isDnsSubdomain } from '../../identity/index.js'
import { nameKey, type NamespacedName } from '../../namespaced-name.js'
import { isPlainObject as isRecord } from '../../spec/shape.js'
import type { EndpointsErrorCode } from '../error-codes.js'
import type { AddressRules } from './address-rules.js'

/** Services of an answer that are used, unless a caller says otherwise. */
const MAX_SERVICES = 1_000
/** Services that an answer may list. Where more are listed than are used, each namespace gets a fair share. */
const MAX_LISTED = 10_000
/** Instances of one service. */
export const MAX_INSTANCES_OF_SERVICE = 1_000
/** Instances of all services of a provider. */
export const MAX_INSTANCES = 10_000
/** Faults of one answer that are kept, of each namespace and in all. */
const MAX_FAULTS = 100
const MAX_FAULTS_IN_ALL = 10_000
const MAX_ADDRESSES = 8
const MAX_PORTS = 32
const MAX_TEXT = 512

/** Something in an answer that is not used. */
export interface AnswerFault {
  readonly code: EndpointsErrorCode
  readonly message: string
  readonly service?: ServiceName
  /** The instance of the service that it is about. */
  readonly instance?: string
  /** Present: it is about the gateway of the instance. */
  readonly ofGateway?: true
}

/** What an answer says of a service. */
export interface CheckedService {
  readonly service: NamespacedName
  readonly instances: readonly CheckedInstance[]
  /** Why the instances may be outdated; absent if they are not. */
  readonly stale?: string
}

/** An instance with one permitted address. */
export interface CheckedInstance extends Omit<Instance, 'addresses' | 'locality' | 'weight' | 'ports'> {
  readonly address: string
  readonly ports: readonly InstancePort[]
  readonly locality: InstanceLocality
  readonly weight: number
}

/** A checked answer, by service. */
export interface CheckedAnswer {
  readonly services: ReadonlyMap<string, CheckedService>
  readonly faults: readonly AnswerFault[]
}

/**
 * Checks what a provider published. A service that is invalid or too large keeps its previous instances, so that one tenant's resource does not stop
 * the others; an instance that is invalid is left out.
 *
 * @param previous - answer in force, whose services stand in for those that are refused
 * @returns undefined for what is no answer at all; its one fault then says why
 */
export function checkAnswer(
  value: unknown,
  rules: AddressRules,
  previous: ReadonlyMap<string, CheckedService>,
  maxServices = MAX_SERVICES,
): { readonly answer: CheckedAnswer | undefined; readonly faults: readonly AnswerFault[] } {
  const services = isRecord(value) ? value['services'] : undefined
  if (!Array.isArray(services)) return refused('OSM_ENDPOINTS_ANSWER', 'the answer must have a list of services')
  if (services.length > MAX_LISTED)
    return refused('OSM_ENDPOINTS_BOUND', `the answer has ${services.length} services; ${MAX_LISTED} are accepted`)
  const checker = new AnswerChecker(rules, previous, maxServices)
  for (const { value: service, index } of inFairOrder(services, maxServices)) checker.add(service, index)
  return { answer: checker, faults: checker.faults }
}

interface Listed {
  readonly value: unknown
  readonly index: number
}

/**
 * The services in the order in which they count. Where there are more than fit, the namespace that has used least so far comes next: with what its services
 * have up to that one, no namespace displaces those of another that asks for less.
 */
function inFairOrder(services: readonly unknown[], maxServices: number): readonly Listed[] {
  const used = new Map<string, { instances: number; services: number }>()
  let all = 0
  const ranked = services.map((value, index) => {
    const namespace = (isRecord(value) ? serviceName(value['service']) : undefined)?.namespace ?? ''
    const instances = isRecord(value) && Array.isArray(value['instances']) ? value['instances'].length : 0
    const sum = used.get(namespace) ?? { instances: 0, services: 0 }
    sum.instances += Math.min(instances, MAX_INSTANCES_OF_SERVICE)
    sum.services += 1
    all += instances
    used.set(namespace, sum)
    // A share of either bound, whichever is larger.
    const share = Math.max(sum.instances / MAX_INSTANCES, sum.services / maxServices)
    return { value, index, share }
  })
  return services.length <= maxServices && all <= MAX_INSTANCES ? ranked : ranked.sort((a, b) => a.share - b.share)
}

function refused(code: EndpointsErrorCode, message: string): ReturnType<typeof checkAnswer> {
  return { answer: undefined, faults: [{ code, message }] }
}

class AnswerChecker implements CheckedAnswer {
  readonly services = new Map<string, CheckedService>()
  readonly faults: AnswerFault[] = []
  readonly #rules: AddressRules
  readonly #previous: ReadonlyMap<string, CheckedService>
  readonly #maxServices: number
  readonly #faultCounts = new Map<string, number>()
  #instances = 0

  constructor(rules: AddressRules, previous: ReadonlyMap<string, CheckedService>, maxServices: number) {
    this.#rules = rules
    this.#previous = previous
    this.#maxServices = maxServices
  }

  add(value: unknown, index: number): void {
    const service = isRecord(value) ? serviceName(value['service']) : undefined
    if (!isRecord(value) || service === undefined) {
      this.#fault('OSM_ENDPOINTS_ANSWER', `services[${index}].service must have the namespace and name of a Service`)
      return
    }
    const { instances, stale } = value
    if (this.services.has(nameKey(service)))
      this.#fault('OSM_ENDPOINTS_ANSWER', 'the service is listed twice; the first entry applies', service)
    else if (this.services.size >= this.#maxServices)
      this.#keep(
        service,
        'OSM_ENDPOINTS_BOUND',
        `the provider has more than ${this.#maxServices} services; this service exceeds the bound`,
      )
    else if (!Array.isArray(instances)) this.#keep(service, 'OSM_ENDPOINTS_ANSWER', 'instances must be a list')
    else if (instances.length > MAX_INSTANCES_OF_SERVICE)
      this.#keep(
        service,
        'OSM_ENDPOINTS_BOUND',
        `has ${instances.length} instances; a service may have ${MAX_INSTANCES_OF_SERVICE}`,
      )
    else if (this.#instances + instances.length > MAX_INSTANCES)
      this.#keep(
        service,
        'OSM_ENDPOINTS_BOUND',
        `the provider has more than ${MAX_INSTANCES} instances; this service exceeds the bound`,
      )
    else {
      this.#instances += instances.length
      this.services.set(nameKey(service), {
        service,
        instances: this.#instancesOf(service, instances),
        ...(typeof stale === 'string' && { stale: stale.slice(0, MAX_TEXT) }),
      })
    }
  }

  #instancesOf(service: NamespacedName, values: readonly unknown[]): readonly CheckedInstance[] {
    const found = new Map<string, CheckedInstance>()
    for (const [index, value] of values.entries()) {
      const instance = this.#instance(service, value, `instances[${index}]`)
      if (instance === undefined) continue
      if (found.has(instance.id))
        this.#fault('OSM_ENDPOINTS_ANSWER', `instances[${index}].id is that of another instance`, service)
      else found.set(instance.id, instance)
    }
    return [...found.values()]
  }

  #instance(service: NamespacedName, value: unknown, place: string): CheckedInstance | undefined {
    const fault = instanceFault(value)
    if (fault !== undefined || !isRecord(value)) {
      this.#fault('OSM_ENDPOINTS_ANSWER', `${place}${fault ?? ' must be an object'}`, service)
      return undefined
    }
    // Every member was checked against the contract just now.
    const instance = value as unknown as Instance
    const address = this.#permitted(service, instance)
    if (address === undefined || !this.#permitsGateway(service, instance)) return undefined
    const { id, ready, serviceAccount, locality, ports = [], weight = 100, sidecar, network } = instance
    if (sidecar !== undefined && serviceAccount === undefined) {
      const message = `${place} (${id}) has a sidecar and no serviceAccount; it receives no traffic`
      this.#fault('OSM_ENDPOINTS_ANSWER', message, service, { instance: id })
      return undefined
    }
    return {
      id,
      address,
      ready,
      ports,
      weight,
      locality: locality ?? { region: '', zone: '', subZone: '' },
      ...(serviceAccount !== undefined && { serviceAccount }),
      ...(sidecar !== undefined && { sidecar }),
      ...(network !== undefined && { network }),
    }
  }

  /** An instance whose gateway is refused is left out: its own address is of another network, where it may be that of another machine. */
  #permitsGateway(service: NamespacedName, { id, network }: Instance): boolean {
    const address = network?.gateway?.address
    const reason = address === undefined ? undefined : this.#rules.refusal(address)
    if (reason === undefined) return true
    const message = `gateway address ${address?.slice(0, 64)} of ${id} ${reason}; the instance receives no traffic`
    this.#fault('OSM_ENDPOINTS_ADDRESS', message, service, { instance: id, ofGateway: true })
    return false
  }

  /** The first permitted address. */
  #permitted(service: NamespacedName, { id, addresses }: Instance): string | undefined {
    for (const address of addresses) {
      const reason = this.#rules.refusal(address)
      if (reason === undefined) return address
      this.#fault(
        'OSM_ENDPOINTS_ADDRESS',
        `address ${address.slice(0, 64)} of ${id} ${reason}; it is not used`,
        service,
        { instance: id },
      )
    }
    return undefined
  }

  #keep(service: NamespacedName, code: EndpointsErrorCode, reason: string): void {
    const previous = this.#previous.get(nameKey(service))
    const fits = this.#instances + (previous?.instances.length ?? 0) <= MAX_INSTANCES
    this.#fault(
      code,
      fits ? `${reason}; its previous instances stay in force` : `${reason}; it has no instances`,
      service,
    )
    if (previous === undefined || !fits) return
    this.#instances += previous.instances.length
    this.services.set(nameKey(service), { ...previous, stale: reason })
  }

  #fault(
    code: EndpointsErrorCode,
    message: string,
    service?: ServiceName,
    about: Pick<AnswerFault, 'instance' | 'ofGateway'> = {},
  ): void {
    const namespace = service?.namespace ?? ''
    const count = this.#faultCounts.get(namespace) ?? 0
    if (count >= MAX_FAULTS || this.faults.length >= MAX_FAULTS_IN_ALL) return
    this.#faultCounts.set(namespace, count + 1)
    this.faults.push({ code, message, ...(service && { service }), ...about })
  }
}

function serviceName(value: unknown): NamespacedName | undefined {
  if (!isRecord(value)) return undefined
  const { namespace, name } = value
  return isLabel(namespace) && isLabel(name) ? { namespace, name } : undefined
}

/** What is wrong with the form of an instance, to follow its place; undefined if nothing is. */
function instanceFault(value: unknown): string | undefined {
  if (!isRecord(value)) return ' must be an object'
  const { id, addresses, ready, serviceAccount, weight, ports, locality, sidecar, network } = value
  if (typeof id !== 'string' || id === '' || id.length > MAX_TEXT) return `.id must have 1 to ${MAX_TEXT} characters`
  if (!isListOf(addresses, MAX_ADDRESSES, isText) || addresses.length === 0)
    return `.addresses must be a list of 1 to ${MAX_ADDRESSES} IP addresses`
  if (typeof ready !== 'boolean') return '.ready must be true or false'
  if (serviceAccount !== undefined && !(isText(serviceAccount) && isDnsSubdomain(serviceAccount)))
    return '.serviceAccount must be the name of a ServiceAccount'
  if (weight !== undefined && !isInteger(weight, 0, 1_000)) return '.weight must be an integer from 0 to 1000'
  if (ports !== undefined && !isListOf(ports, MAX_PORTS, isPort))
    return `.ports must be a list of at most ${MAX_PORTS} ports, each with a name and a number from 1 to 65535`
  if (locality !== undefined && !isLocality(locality)) return '.locality must have region, zone and subZone'
  if (sidecar !== undefined && !isSidecar(sidecar)) return '.sidecar must be an object, its class a sidecar class'
  if (network !== undefined && !isNetwork(network))
    return '.network must be an object, its name a DNS label, and its gateway an address with or without a port'
  return undefined
}

function isLabel(value: unknown): value is string {
  return typeof value === 'string' && isDnsLabel(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

function isInteger(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

function isListOf<T>(value: unknown, most: number, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.length <= most && value.every(is)
}

function isPort(value: unknown): value is InstancePort {
  return isRecord(value) && isText(value['name']) && isInteger(value['port'], 1, 65_535)
}

function isLocality(value: unknown): value is InstanceLocality {
  return isRecord(value) && ['region', 'zone', 'subZone'].every((member) => isText(value[member]))
}

function isNetwork(value: unknown): value is InstanceNetwork {
  if (!isRecord(value) || !isLabel(value['name'])) return false
  const { gateway } = value
  if (gateway === undefined) return true
  return (
    isRecord(gateway) &&
    isText(gateway['address']) &&
    (gateway['port'] === undefined || isInteger(gateway['port'], 1, 65_535))
  )
}

function isSidecar(value: unknown): value is InstanceSidecar {
  return isRecord(value) && (value['class'] === undefined || isDriverName(value['class']))
}
