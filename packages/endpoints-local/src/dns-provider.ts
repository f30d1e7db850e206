import { Resolver } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  ENDPOINTS_CONTRACT_VERSION,
  type EndpointsPlugin,
  type Instance,
  type ProviderContext,
  type ServiceInstances,
  type ServiceName,
} from '@osm-ts/endpoints-api'

const MAX_RECORDS = 1_000
const QUERY_TIMEOUT_MS = 3_000
const QUERY_TRIES = 2
/** A controller that starts waits a little longer for the first answer. */
const FIRST_ANSWER_MS = 4_000
/** Names of SRV targets that are resolved at once. */
const CONCURRENCY = 8
/** These say that there are no such records. Every other error says that nothing is known. */
const ABSENT: readonly string[] = ['ENOTFOUND', 'ENODATA']

const text = { type: 'string', minLength: 1, maxLength: 253 } as const

/**
 * Endpoints by DNS: SRV records with the addresses of their targets, or A and AAAA records of a host. Answers are renewed by the time to live of addresses, within
 * bounds. A server that does not answer leaves the last good records in force; an answer without records ends them.
 */
export const dnsProvider: EndpointsPlugin = {
  name: 'dns',
  contractVersion: ENDPOINTS_CONTRACT_VERSION,
  resourceKinds: [],
  settingsSchema: {
    type: 'object',
    required: ['services'],
    additionalProperties: false,
    properties: {
      servers: { type: 'array', items: text, maxItems: 8 },
      minTtlSeconds: { type: 'integer', minimum: 1, maximum: 86_400 },
      maxTtlSeconds: { type: 'integer', minimum: 1, maximum: 86_400 },
      services: {
        type: 'array',
        maxItems: 1_000,
        items: {
          type: 'object',
          required: ['service'],
          oneOf: [{ required: ['srv'] }, { required: ['host'] }],
          additionalProperties: false,
          properties: {
            service: {
              type: 'object',
              required: ['namespace', 'name'],
              additionalProperties: false,
              properties: { namespace: text, name: text },
            },
            srv: text,
            host: text,
            portName: text,
            serviceAccount: text,
            sidecar: { type: 'object', additionalProperties: false, properties: { class: text } },
          },
        },
      },
    },
  },
  async start(context) {
    // The host has checked the settings by the schema.
    const settings = context.settings as unknown as DnsSettings
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
    if (settings.servers !== undefined) resolver.setServers(settings.servers)
    const table = new AnswerTable(settings.services, context)
    const stopped = Promise.all(settings.services.map((query) => follow(query, settings, resolver, table, context)))
    context.signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    return { stopped: stopped.then(() => undefined) }
  },
}

interface DnsSettings {
  readonly servers?: readonly string[]
  /** Least time between two queries; 5 s when absent. */
  readonly minTtlSeconds?: number
  /** Greatest time between two queries; 300 s when absent. */
  readonly maxTtlSeconds?: number
  readonly services: readonly DnsQuery[]
}

interface DnsQuery {
  readonly service: ServiceName
  /** Name of SRV records; their port replaces that of the Service. */
  readonly srv?: string
  /** Name of A and AAAA records. */
  readonly host?: string
  /** Port of the Service whose `targetPort` the port of SRV records replaces; absent for a Service with one unnamed `targetPort`. */
  readonly portName?: string
  readonly serviceAccount?: string
  readonly sidecar?: { readonly class?: string }
}

interface Resolved {
  readonly instances: readonly Instance[]
  readonly ttlSeconds: number
}

/** What is known of a name. */
interface Found {
  readonly instances: readonly Instance[]
  /** Why nothing newer is known. */
  readonly stale?: string
}

/**
 * The newest instances of every service, with those of all names that are configured for it. The first answer waits until each name was resolved or
 * failed, or for {@link FIRST_ANSWER_MS}: it replaces that of an earlier process. A name that was not resolved by then makes its service stale.
 */
class AnswerTable {
  readonly #context: ProviderContext
  readonly #queries: readonly DnsQuery[]
  readonly #found = new Map<DnsQuery, Found>()
  #isPublished = false

  constructor(queries: readonly DnsQuery[], context: ProviderContext) {
    this.#queries = queries
    this.#context = context
    const late = setTimeout(() => this.#publish(), FIRST_ANSWER_MS)
    context.signal.addEventListener('abort', () => clearTimeout(late), { once: true })
  }

  resolved(query: DnsQuery, instances: readonly Instance[]): void {
    this.#set(query, { instances })
  }

  failed(query: DnsQuery, stale: string): void {
    this.#set(query, { instances: this.#found.get(query)?.instances ?? [], stale })
  }

  #set(query: DnsQuery, found: Found): void {
    this.#found.set(query, found)
    if (this.#isPublished || this.#found.size === this.#queries.length) this.#publish()
  }

  #publish(): void {
    this.#isPublished = true
    const services = new Map<string, ServiceInstances>()
    for (const query of this.#queries) {
      const { service } = query
      const { instances, stale } = this.#found.get(query) ?? {
        instances: [],
        stale: `${nameOf(query)} has not been resolved yet`,
      }
      const other = services.get(keyOf(service))
      const reason = other?.stale ?? stale
      services.set(keyOf(service), {
        service,
        instances: other === undefined ? instances : withoutTwins([...other.instances, ...instances]),
        ...(reason !== undefined && { stale: reason }),
      })
    }
    this.#context.publish({ services: [...services.values()] })
  }
}

/** Two names may have one address. */
function withoutTwins(instances: readonly Instance[]): readonly Instance[] {
  return [...new Map(instances.toReversed().map((instance) => [instance.id, instance])).values()].toReversed()
}

async function follow(
  query: DnsQuery,
  { minTtlSeconds = 5, maxTtlSeconds = 300 }: DnsSettings,
  resolver: Resolver,
  table: AnswerTable,
  context: ProviderContext,
): Promise<void> {
  const { signal } = context
  while (!signal.aborted) {
    let ttlSeconds = minTtlSeconds
    try {
      const resolved = await resolve(query, resolver, maxTtlSeconds)
      context.countCall('resolve', 'ok')
      table.resolved(query, resolved.instances)
      ttlSeconds = Math.min(Math.max(resolved.ttlSeconds, minTtlSeconds), Math.max(minTtlSeconds, maxTtlSeconds))
    } catch (error) {
      context.countCall('resolve', 'failed')
      const reason = `${nameOf(query)} cannot be resolved: ${codeOf(error)}`
      context.log.warn(reason)
      table.failed(query, reason)
    }
    await sleep(ttlSeconds * 1_000, undefined, { signal }).catch(() => undefined)
  }
}

async function resolve(query: DnsQuery, resolver: Resolver, maxTtlSeconds: number): Promise<Resolved> {
  const { srv, host = '' } = query
  if (srv === undefined) {
    const { addresses, ttlSeconds } = await addressesOf(host, resolver, maxTtlSeconds)
    return {
      instances: addresses.slice(0, MAX_RECORDS).map((address) => instanceOf(query, address, address)),
      ttlSeconds,
    }
  }
  const records = (await orAbsent(resolver.resolveSrv(srv))).slice(0, MAX_RECORDS)
  // Of several priorities only the first counts, as RFC 2782 says of targets that can be reached.
  const first = Math.min(...records.map(({ priority }) => priority))
  const chosen = records.filter(({ priority }) => priority === first)
  const found: Resolved[] = []
  for (let at = 0; at < chosen.length; at += CONCURRENCY)
    found.push(
      ...(await Promise.all(
        chosen.slice(at, at + CONCURRENCY).map(async ({ name, port, weight }) => {
          const { addresses, ttlSeconds } = await addressesOf(name, resolver, maxTtlSeconds)
          const instances = addresses.map((address) => ({
            ...instanceOf(query, `${name}:${port} ${address}`, address),
            weight: Math.min(Math.max(weight, 1), 1_000),
            ports: [{ name: query.portName ?? '', port }],
          }))
          return { instances, ttlSeconds }
        }),
      )),
    )
  return {
    instances: found.flatMap(({ instances }) => instances).slice(0, MAX_RECORDS),
    ttlSeconds: Math.min(maxTtlSeconds, ...found.map(({ ttlSeconds }) => ttlSeconds)),
  }
}

function instanceOf({ serviceAccount, sidecar }: DnsQuery, id: string, address: string): Instance {
  return {
    id,
    addresses: [address],
    ready: true,
    ...(serviceAccount !== undefined && { serviceAccount }),
    ...(sidecar !== undefined && { sidecar }),
  }
}

async function addressesOf(
  host: string,
  resolver: Resolver,
  maxTtlSeconds: number,
): Promise<{ readonly addresses: readonly string[]; readonly ttlSeconds: number }> {
  const records = (
    await Promise.all([
      orAbsent(resolver.resolve4(host, { ttl: true })),
      orAbsent(resolver.resolve6(host, { ttl: true })),
    ])
  ).flat()
  const addresses = [...new Set(records.map(({ address }) => address))].sort()
  return { addresses, ttlSeconds: Math.min(maxTtlSeconds, ...records.map(({ ttl }) => ttl)) }
}

/** The records, none if the server says that there are none. */
async function orAbsent<T>(records: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await records
  } catch (error) {
    if (ABSENT.includes(codeOf(error))) return []
    throw error
  }
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : String(error)
}

function nameOf({ srv, host = '' }: DnsQuery): string {
  return srv ?? host
}

function keyOf({ namespace, name }: ServiceName): string {
  return `${namespace}/${name}`
}
