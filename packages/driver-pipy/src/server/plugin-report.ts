import {
  type PartLookup,
  type PartRef,
  PLUGIN_TYPE,
  type PluginValue,
  type ProxyPart,
  type Refusal,
} from '@osm-ts/driver-api/policy'
import { MAX_SHOWN_WORDS, shownWords } from '@osm-ts/driver-api/toolkit'

import { limits } from './limits.js'

/** What a worker says of a plugin that fails. */
export interface PluginFault {
  /** Name of the plugin. */
  readonly plugin: string
  /** False: the script could not be loaded, and refuses what comes to it. */
  readonly isLoaded: boolean
  /** How often it has failed since it was loaded. */
  readonly failures: number
  /** The worker's words for the last time. */
  readonly error: string
}

/** Reads what a worker says of its plugins, `[{ plugin, isLoaded, failures, error }]`. Undefined if it is none. */
export function readPluginReport(body: Uint8Array): readonly PluginFault[] | undefined {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return undefined
  }
  if (!Array.isArray(value) || value.length > limits.maxPluginFaults) return undefined
  const faults = value.map(readFault)
  return faults.some((fault) => fault === undefined) ? undefined : (faults as readonly PluginFault[]) // looked at just before
}

function readFault(value: unknown): PluginFault | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { plugin, isLoaded, failures, error } = value as Readonly<Record<string, unknown>> // checked below
  if (typeof plugin !== 'string' || typeof isLoaded !== 'boolean' || typeof error !== 'string') return undefined
  if (typeof failures !== 'number' || !Number.isSafeInteger(failures) || failures < 0) return undefined
  return { plugin, isLoaded, failures, error: shownWords(error) }
}

/** The plugins of a worker that fail: those that its policy has and that were not held back, as it reported them last. */
export class FailingPlugins {
  #parts: ReadonlyMap<string, PartRef> = new Map()
  #refused: readonly (readonly [string, Refusal])[] = []
  readonly #faults = new Map<string, PluginFault & { readonly changedAt: number }>()

  /**
   * The worker has another policy.
   *
   * @param refusals - what of it does not go out
   */
  follow({ extensions }: ProxyPart, parts: PartLookup, refusals: readonly Refusal[]): void {
    const all = new Map(
      extensions.flatMap((hash): readonly (readonly [string, PartRef])[] => {
        const part = parts(hash)
        if (part.kind !== 'extension' || part.type !== PLUGIN_TYPE) return []
        const { plugin } = part.value as unknown as PluginValue // that is what parts of the type hold
        return [[plugin, { kind: part.kind, id: part.id, hash }]]
      }),
    )
    this.#refused = [...all].flatMap(([plugin, { hash }]) =>
      refusals.filter(({ ref }) => ref.hash === hash).map((refusal) => [plugin, refusal] as const),
    )
    for (const [plugin] of this.#refused) all.delete(plugin)
    this.#parts = all
  }

  /** Words for operators about those that were held back; undefined if there are none. */
  get refusedWords(): string | undefined {
    return words(this.#refused.map(([plugin, { message }]) => `${plugin} ${message}`))
  }

  /**
   * The worker has reported.
   *
   * @returns how often plugins have failed since the report before
   */
  note(faults: readonly PluginFault[], now: number): number {
    let failures = 0
    for (const plugin of this.#faults.keys())
      if (!faults.some((fault) => fault.plugin === plugin)) this.#faults.delete(plugin)
    for (const fault of faults) {
      const before = this.#faults.get(fault.plugin)
      // Counts restart with the script, and with the worker.
      const known = before !== undefined && before.failures <= fault.failures ? before.failures : 0
      const more = fault.failures - known
      failures += more
      const changedAt = before === undefined || more > 0 ? now : before.changedAt
      this.#faults.set(fault.plugin, { ...fault, changedAt })
    }
    return failures
  }

  /** What could not be loaded, as parts of the policy. */
  get notLoaded(): readonly Refusal[] {
    return this.#current(({ isLoaded }) => !isLoaded).flatMap(({ plugin, error }) => {
      const ref = this.#parts.get(plugin)
      return ref === undefined ? [] : [{ ref, pointer: '/value/script', message: `cannot be loaded: ${error}` }]
    })
  }

  /** Words for operators about those that could not be loaded; undefined if there are none. */
  get loadWords(): string | undefined {
    const all = this.#current(({ isLoaded }) => !isLoaded)
    return words(all.map(({ plugin, error }) => `${plugin} cannot be loaded, and refuses what comes to it: ${error}`))
  }

  /** Words for operators about those that have failed recently; undefined if there are none. */
  runWords(now: number): string | undefined {
    const all = this.#current(
      ({ isLoaded, failures, changedAt }) => isLoaded && failures > 0 && now - changedAt < limits.pluginFailureMs,
    )
    return words(all.map(({ plugin, failures, error }) => `${plugin} has failed ${failures} times, last by: ${error}`))
  }

  #current(is: (fault: PluginFault & { readonly changedAt: number }) => boolean) {
    return [...this.#faults.values()].filter((fault) => this.#parts.has(fault.plugin) && is(fault))
  }
}

function words(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join('; ').slice(0, MAX_SHOWN_WORDS)
}
