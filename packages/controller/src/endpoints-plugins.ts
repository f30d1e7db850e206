import {
  AddressRules,
  EXTERNAL_WORKLOADS,
  ExternalWorkloads,
  type Metrics,
  PluginEndpointsProvider,
  type PluginProviderState,
  type Problem,
  type ProcessLogger,
  ProviderResources,
  type ResourceReport,
  resourceReports,
  type ResourceStore,
  schemaFaults,
  type SnapshotFeed,
  systemClock,
} from '@osm-ts/core'
import { hostProviders, type ProviderEntry, type ProviderSink } from '@osm-ts/driver-process'
import { Listeners, onAbort } from '@osm-ts/driver-api/toolkit'

import { LastAnswers } from './last-answers.js'

/** Endpoints providers that a controller loads. */
export interface EndpointsPluginsOptions {
  readonly entries: readonly ProviderEntry[]
  /** Folder of the program. */
  readonly programFolder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** True where the whole mesh is on one machine. */
  readonly allowLoopback: boolean
  /** CIDRs that no provider may announce, such as the service range of the cluster. */
  readonly refusedAddresses: readonly string[]
  /** Where objects of the kinds of providers are written down. */
  readonly resources: ResourceStore
  /** File that keeps the last answers across a restart; absent where there is no disk to keep it on. */
  readonly answersFile?: string
}

/** What endpoints plug-ins share with the controller. */
interface Surroundings {
  readonly feed: SnapshotFeed
  readonly metrics: Metrics
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** How long the start of a controller waits for first answers: without them proxies would lose endpoints that they have. */
const FIRST_ANSWERS_MS = 5_000
/** Operations of a provider that its metric tells apart. */
const MAX_OPERATIONS = 32
const OPERATION = /^[\w./-]{1,64}$/

/** The endpoints providers that a controller loads: where they are asked, and how they are. */
export class EndpointsPlugins {
  readonly providers: readonly PluginEndpointsProvider[]
  readonly #external: ExternalWorkloads
  readonly #options: EndpointsPluginsOptions
  readonly #surroundings: Surroundings
  readonly #resources = new Map<string, ProviderResources>()
  readonly #resourceChanges = new Listeners()
  readonly #calls: ReturnType<Metrics['counter']>

  constructor(options: EndpointsPluginsOptions, surroundings: Surroundings) {
    const { allowLoopback, refusedAddresses: refused } = options
    const rules = new AddressRules({ allowLoopback, refused })
    this.#options = options
    this.#surroundings = surroundings
    const common = { rules, now: () => systemClock.now(), ...surroundings.feed.reader() }
    this.#external = new ExternalWorkloads(common)
    this.providers = [
      this.#external.provider,
      ...options.entries.map(({ name }) => new PluginEndpointsProvider({ ...common, id: name })),
    ]
    this.#calls = surroundings.metrics.counter(
      'osm_endpoints_provider_calls_total',
      'Calls of an endpoints provider to an external API',
      ['provider', 'operation', 'outcome'],
    )
    this.#measure()
  }

  /** Runs the providers. The first resolves when each has answered or failed, or after a few seconds; the second when nothing of them is left. */
  start(): { readonly answered: Promise<void>; readonly stopped: Promise<void> } {
    const { entries, programFolder, environment } = this.#options
    const { logger, signal } = this.#surroundings
    onAbort(signal, this.#external.start())
    const answers = this.#lastAnswers(logger)
    const hosted = hostProviders({
      entries,
      programFolder,
      environment,
      sink: (name) => this.#sink(name, answers),
      checkSettings: (schema, settings) => schemaFaults(schema, settings, 'settings'),
      resources: (name, kinds, runs) => this.#openResources(name, kinds, runs),
      logger: logger.child('endpoints'),
      signal,
    })
    return { answered: this.#answered(signal), stopped: closedAfter(hosted, answers) }
  }

  /** How each provider is. */
  states(): readonly PluginProviderState[] {
    return this.providers.map((provider) => provider.state())
  }

  /** What becomes of each object of the kinds of providers. */
  reports(): readonly ResourceReport[] {
    return this.states().flatMap((state) => {
      const resources = this.#resources.get(state.id)
      return resources === undefined ? [] : resourceReports(resources, state)
    })
  }

  /** Calls the listener when {@link states} or {@link reports} may have another result. The result ends it. */
  onStateChange(listener: () => void): () => void {
    const ends = [
      this.#resourceChanges.add(listener),
      ...this.providers.map((provider) => provider.onStateChange(listener)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  /** What is wrong with the providers, and with what they publish. */
  problems(): readonly Problem[] {
    const plugins = this.states().filter(({ id }) => id !== EXTERNAL_WORKLOADS)
    const found = plugins.flatMap(({ id, state, reason = '', faults }): readonly Problem[] => [
      ...(state === 'failing'
        ? [
            {
              code: 'OSM_ENDPOINTS_PROVIDER_FAILED',
              severity: 'warning' as const,
              message: `endpoints provider ${id} fails: ${reason}; its last answer stays in force`,
            },
          ]
        : []),
      ...faults.map(({ code, message, service }) => ({
        code,
        severity: 'warning' as const,
        message: `endpoints provider ${id}: ${message}`,
        ...(service && { object: { kind: 'Service', ...service } }),
      })),
    ])
    return [
      ...this.#external.problems(),
      ...found,
      ...this.#options.resources.problems(),
      ...[...this.#resources.values()].flatMap((resources) => resources.problems()),
      ...this.reports().flatMap(unresolved),
    ]
  }

  async #openResources(
    name: string,
    kinds: Parameters<ResourceStore['open']>[0],
    signal: AbortSignal,
  ): Promise<ProviderResources> {
    for (const [other, { kinds: others }] of this.#resources) {
      const shared = other === name ? undefined : kinds.find((it) => others.some(({ kind }) => kind === it.kind))
      if (shared !== undefined) throw new RangeError(`kind ${shared.kind} is owned by provider ${other}`)
    }
    const resources = await ProviderResources.open({
      kinds,
      store: this.#options.resources,
      setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs),
      signal,
    })
    this.#resources.set(name, resources)
    resources.subscribe(() => this.#resourceChanges.notify())
    this.#resourceChanges.notify()
    return resources
  }

  async #answered(signal: AbortSignal): Promise<void> {
    let leave = (): void => undefined
    const all = new Promise<void>((resolve) => {
      const compare = (): void => {
        if (this.states().every(({ state }) => state !== 'starting')) resolve()
      }
      leave = this.onStateChange(compare)
      compare()
    })
    let cancel = (): void => undefined
    const late = new Promise<void>((resolve) => {
      cancel = systemClock.setTimer(resolve, FIRST_ANSWERS_MS)
    })
    let unlisten = (): void => undefined
    const aborted = new Promise<void>((resolve) => {
      unlisten = onAbort(signal, resolve)
    })
    await Promise.race([all, late, aborted])
    leave()
    cancel()
    unlisten()
  }

  /** Takes the answers from before the restart into force, as stale, until each provider answers. */
  #lastAnswers(logger: ProcessLogger): LastAnswers | undefined {
    const { answersFile: path, entries } = this.#options
    if (path === undefined || entries.length === 0) return undefined
    const setTimer = (callback: () => void, delayMs: number) => systemClock.setTimer(callback, delayMs)
    const answers = new LastAnswers({ path, setTimer, logger })
    answers.keepOnly(entries.map(({ name }) => name))
    for (const provider of this.providers) {
      const answer = answers.get(provider.id)
      if (answer !== undefined) provider.restore(answer)
    }
    return answers
  }

  #sink(name: string, answers: LastAnswers | undefined): ProviderSink {
    const provider = this.providers.find(({ id }) => id === name)
    if (provider === undefined) throw new RangeError(`there is no endpoints provider ${name}`)
    const operations = new Set<string>()
    return {
      publish: (answer) => {
        if (provider.publish(answer)) answers?.put(name, provider.inForce())
      },
      fail: (reason) => provider.fail(reason),
      ended: (reason) => provider.ended(reason),
      recover: () => provider.recover(),
      reportStatus: (ref, status) => provider.reportStatus(ref, status),
      countCall: (operation, outcome) => {
        const isShown = OPERATION.test(operation) && (operations.has(operation) || operations.size < MAX_OPERATIONS)
        if (isShown) operations.add(operation)
        this.#calls.inc({ provider: name, operation: isShown ? operation : 'other', outcome })
      },
    }
  }

  #measure(): void {
    const { metrics } = this.#surroundings
    const healthy = metrics.gauge(
      'osm_endpoints_provider_healthy',
      '1 while an endpoints provider works, 0 while its last answer may be outdated',
      ['provider'],
    )
    const instances = metrics.gauge('osm_endpoints_provider_instances', 'Instances of an endpoints provider', [
      'provider',
    ])
    const refused = metrics.gauge(
      'osm_endpoints_provider_faults',
      'Invalid parts of the last answer of an endpoints provider, which are ignored; 100 at most',
      ['provider'],
    )
    for (const provider of this.providers.filter(({ id }) => id !== EXTERNAL_WORKLOADS)) {
      const show = (): void => {
        const state = provider.state()
        healthy.set({ provider: provider.id }, state.state === 'ok' ? 1 : 0)
        instances.set({ provider: provider.id }, state.instances)
        refused.set({ provider: provider.id }, state.faults.length)
      }
      show()
      provider.onStateChange(show)
    }
  }
}

/** Conditions of a provider that say that something is wrong. */
function unresolved({ kind, namespace, name, conditions, origin }: ResourceReport): readonly Problem[] {
  return conditions
    .filter(({ type, status }) => status === 'False' && type !== 'Accepted' && type !== 'Stale')
    .map(({ message }) => ({
      code: 'OSM_ENDPOINTS_UNRESOLVED',
      severity: 'warning',
      message,
      object: { kind, namespace, name },
      ...(origin && { origin }),
    }))
}

async function closedAfter(hosted: Promise<void>, answers: LastAnswers | undefined): Promise<void> {
  try {
    await hosted
  } finally {
    await answers?.close()
  }
}
