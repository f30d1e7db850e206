import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

import type {
  CallOutcome,
  CustomResource,
  EndpointsPlugin,
  JsonObject,
  ProviderAnswer,
  ProviderContext,
  ResourceStatus,
  RunningProvider,
  ServiceInstances,
} from '@osm-ts/endpoints-api'

type Health = Parameters<ProviderContext['report']>[0]

/** A host of one provider that keeps what it is told. */
export class RecordingHost {
  readonly answers: ProviderAnswer[] = []
  readonly healths: Health[] = []
  readonly statuses = new Map<string, ResourceStatus>()
  readonly logged: string[] = []
  readonly calls: (readonly [operation: string, outcome: CallOutcome])[] = []
  readonly #closing = new AbortController()
  readonly #listeners = new Set<() => void>()
  #objects: readonly CustomResource[] = []
  #hasFailed = false
  #statusCount = 0
  #running: RunningProvider | undefined

  readonly #limitMs: number

  /** @param limitMs - how long something is waited for, in milliseconds */
  constructor(limitMs = 120_000) {
    this.#limitMs = limitMs
  }

  /** What a provider is started with. One that is started again gets another host. */
  context(settings: JsonObject = {}): ProviderContext {
    const log = (message: string, fields?: JsonObject): void => {
      this.logged.push(`${message} ${JSON.stringify(fields ?? {})}`)
    }
    return {
      contractVersion: 1,
      settings,
      signal: this.#closing.signal,
      log: { debug: log, info: log, warn: log, error: log },
      resources: {
        list: () => this.#objects,
        subscribe: (listener) => {
          this.#listeners.add(listener)
          return () => this.#listeners.delete(listener)
        },
      },
      publish: (answer) => {
        this.#hasFailed = false
        this.answers.push(answer)
      },
      report: (health) => {
        this.#hasFailed = health.state === 'failing'
        this.healths.push(health)
      },
      reportStatus: ({ kind, namespace, name }, status) => {
        this.#statusCount += 1
        if (status === undefined) this.statuses.delete(`${kind}/${namespace}/${name}`)
        else this.statuses.set(`${kind}/${namespace}/${name}`, status)
      },
      countCall: (operation, outcome) => {
        this.calls.push([operation, outcome])
      },
    }
  }

  async start(plugin: EndpointsPlugin, settings: JsonObject): Promise<void> {
    this.#running = await plugin.start(this.context(settings))
  }

  setObjects(...objects: readonly CustomResource[]): void {
    this.#objects = objects
    for (const listener of this.#listeners) listener()
  }

  /** The present instances of a service. */
  instancesOf(name: string, namespace = 'shop'): ServiceInstances | undefined {
    return this.answers.at(-1)?.services.find(({ service }) => service.name === name && service.namespace === namespace)
  }

  /** The reason of the only condition of an object. */
  reasonOf(key: string): string | undefined {
    return this.statuses.get(key)?.conditions[0]?.reason
  }

  /** Ids of the present instances, by service. */
  idsByService(): Readonly<Record<string, readonly string[]>> {
    const services = this.answers.at(-1)?.services ?? []
    return Object.fromEntries(
      services
        .map(
          ({ service: { namespace, name }, instances }) =>
            [`${namespace}/${name}`, instances.map(({ id }) => id).sort()] as const,
        )
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  }

  instanceCount(): number {
    return Object.values(this.idsByService()).flat().length
  }

  /** Whether the last answer counts as stale, as a whole or in part. */
  isFailing(): boolean {
    return this.#hasFailed || (this.answers.at(-1)?.services ?? []).some(({ stale }) => stale !== undefined)
  }

  /** How many times it was told something. */
  toldCount(): number {
    return this.answers.length + this.healths.length + this.#statusCount
  }

  /** Waits until something holds, and then for nothing more. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + this.#limitMs
    while (!holds()) {
      if (performance.now() > deadline) throw new Error(`never: ${what}; ${this.everything()}`)
      // oxlint-disable-next-line no-await-in-loop -- looks again
      await sleep(10)
    }
  }

  /** Waits for an answer with instances of which nothing is stale: one failed call must not look like a difference. */
  async untilInstances(): Promise<void> {
    await this.until('a complete answer with an instance', () => this.instanceCount() > 0 && !this.isFailing())
  }

  /** Waits for another answer. */
  async nextAnswer(): Promise<void> {
    const count = this.answers.length
    await this.until('another answer', () => this.answers.length > count)
  }

  /** All that a provider told, as text. */
  everything(): string {
    return inspect([this.answers.at(-1), this.healths.at(-1), this.statuses, this.logged, this.calls.slice(-20)], {
      depth: 10,
    })
  }

  /** Ends the provider, if one was started, and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running?.stopped
  }
}

/** A custom resource of namespace `shop`. */
export function customResource(
  kind: string,
  name: string,
  spec: JsonObject,
  changes: Partial<CustomResource> = {},
): CustomResource {
  return { kind, namespace: 'shop', name, labels: {}, generation: 1, spec, ...changes }
}
