import {
  type CertificateProvider,
  type ProcessLogger,
  type SnapshotFeed,
  SplitProvider,
  StagedProvider,
  type TrustPlan,
} from '@osm-ts/core'
import { errorMessage, untilAborted } from '@osm-ts/driver-api/toolkit'
import { isOsmError } from '@osm-ts/driver-api'

import type { ProviderOpener } from '../options.js'
import { openWorkloads, type OpenedWorkloads, type ProviderOptions } from './open-provider.js'
import { type ProviderChoice, type ProviderChoices, resumedChoices } from './provider-choice.js'
import { mayIssue, type RootRecords } from './root-record.js'
import { type ProvidersByChoice, RotationView } from './rotation-view.js'

/** What {@link providerOpener} needs. */
export interface ProviderOpenerOptions extends ProviderOptions {
  /** Asked when the controller starts, and whenever the mesh has changed. */
  readonly choose: (feed: SnapshotFeed, isStart: boolean) => ProviderChoices
  /** What the leader of several controllers has decided; absent where this controller decides for itself. */
  readonly leader?: {
    readonly records: RootRecords
    /** What signs if {@link choose} throws when a controller starts. */
    readonly signing: (feed: SnapshotFeed) => ProviderChoices | undefined
  }
}

/**
 * Opens the providers that were chosen for workloads, and follows other choices. The built-in authority stays that of the control plane: proxy certificates live
 * as long as pods do, which other authorities do not grant, and they must not open anything but the control plane.
 */
export function providerOpener(options: ProviderOpenerOptions): ProviderOpener {
  return async (feed, signal) => {
    const { builtIn, choose, clock, leader, logger } = options
    const opened = new OpenProviders(options, signal)
    const choices = choicesAtStart(options, feed)
    const signer = await opened.take({ ...choices, passive: [] }, signal)
    // What is trusted must not shrink by a restart, and one that does not sign must not keep the mesh from starting.
    const all = await opened
      .take(choices, AbortSignal.any([signal, AbortSignal.timeout(PASSIVE_MS)]))
      .catch(() => undefined)
    signal.throwIfAborted()
    const workload = new StagedProvider(all ?? signer, clock)
    const rotation = new RotationView(workload, opened, all === undefined ? undefined : choices)
    workload.decideBy(() => {
      const name = rotation.choices?.names?.active
      return leader === undefined || name === undefined ? undefined : mayIssue(leader.records(name))
    })
    const provider = new SplitProvider({ 'control-plane': builtIn, workload })
    const follow = async (): Promise<void> => {
      try {
        const following = followChoices(
          { feed, choose, opened, workload, rotation, logger, known: all && keyOf(choices) },
          signal,
        )
        await Promise.race([following, opened.failed])
      } finally {
        workload.close()
        await opened.stopped()
      }
    }
    return { provider, stopped: follow(), confirmBy: (sidecars) => workload.confirmBy(sidecars), rotation }
  }
}

/** What was decided before holds until the leader decides otherwise, and a mesh that signs must not end by a bad object. */
function choicesAtStart({ choose, leader }: ProviderOpenerOptions, feed: SnapshotFeed): ProviderChoices {
  if (leader === undefined) return choose(feed, true)
  try {
    return resumedChoices(choose(feed, true), leader.records)
  } catch (error) {
    const signing = leader.signing(feed)
    if (signing === undefined) throw error
    return signing
  }
}

/** Time for providers that are trusted and do not sign, before a controller starts without them. */
const PASSIVE_MS = 60_000

interface Following {
  readonly feed: SnapshotFeed
  readonly choose: ProviderOpenerOptions['choose']
  readonly opened: OpenProviders
  readonly workload: StagedProvider
  readonly rotation: RotationView
  readonly logger: ProcessLogger
  /** The choices in force; undefined: not all of them could be opened. */
  readonly known: string | undefined
}

/** Takes up each choice that differs from the one before. One that cannot be opened is waited for until there is another. */
async function followChoices(
  { feed, choose, opened, workload, rotation, logger, known }: Following,
  signal: AbortSignal,
): Promise<void> {
  let current = known
  let wanted: string | undefined
  let changed = new AbortController()
  // Most changes of the mesh choose no other provider, and must not interrupt the opening of one.
  const leaves = [
    feed.subscribe(() => {
      if (textOf(choose, feed) !== wanted) changed.abort()
    }),
    workload.onRootChange(() => {
      if (wanted === current) changed.abort()
    }),
  ]
  try {
    while (!signal.aborted) {
      const round = AbortSignal.any([signal, changed.signal])
      wanted = textOf(choose, feed)
      try {
        const choices = choose(feed, false)
        if (keyOf(choices) !== current) {
          rotation.isPending = true
          workload.hold({ code: 'OSM_CERT_ROTATION', message: 'a provider that was chosen does not answer yet' })
          const plan = await opened.take(choices, round)
          // What the leader is asked about is what is to sign.
          rotation.choices = choices
          workload.change(plan)
          current = keyOf(choices)
          logger.info({ active: choices.active.kind, passive: choices.passive.length }, 'certificate providers changed')
        } else workload.hold(undefined)
        rotation.isPending = false
        rotation.fault = undefined
        // One that another has replaced signs until that has been trusted for long enough.
        await opened.closeAllBut((provider) => workload.uses(provider))
      } catch (error) {
        if (!round.aborted) {
          const code = isOsmError(error) ? error.code : 'OSM_CERT_PROVIDER_SETTINGS'
          rotation.isPending = true
          rotation.fault = { code, message: errorMessage(error) }
          workload.hold(rotation.fault)
          logger.error({ code, reason: errorMessage(error) }, 'the previous certificate provider goes on to sign')
        }
      }
      await untilAborted(round)
      changed = new AbortController()
    }
  } finally {
    for (const leave of leaves) leave()
  }
}

/** Providers by what was chosen. */
class OpenProviders implements ProvidersByChoice {
  readonly #options: ProviderOptions
  readonly #signal: AbortSignal
  readonly #opened = new Map<string, OpenedWorkloads & { readonly close: () => void }>()
  /** Rejects when one of them has failed, which ends the controller. */
  readonly failed: Promise<never>
  #fail: (error: unknown) => void = () => undefined

  constructor(options: ProviderOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
    this.failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject
    })
    // A failure before anyone waits for it is told to the first who does.
    this.failed.catch(() => undefined)
  }

  find(choice: ProviderChoice): CertificateProvider | undefined {
    return this.#opened.get(JSON.stringify(choice))?.provider
  }

  /** The providers of the choices; those that are not open yet are opened. */
  async take({ active, passive }: ProviderChoices, signal: AbortSignal): Promise<TrustPlan> {
    const signer = await this.#open(active, signal)
    const trusted = []
    for (const choice of passive) trusted.push(await this.#open(choice, signal))
    return { signer, trusted }
  }

  async closeAllBut(isUsed: (provider: CertificateProvider) => boolean): Promise<void> {
    for (const [key, { provider, close, stopped }] of this.#opened) {
      if (isUsed(provider)) continue
      this.#opened.delete(key)
      close()
      await stopped
    }
  }

  async stopped(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(({ stopped }) => stopped))
  }

  async #open(choice: ProviderChoice, signal: AbortSignal): Promise<OpenedWorkloads['provider']> {
    const key = JSON.stringify(choice)
    const known = this.#opened.get(key)
    if (known !== undefined) return known.provider
    const closing = new AbortController()
    const giveUp = (): void => closing.abort(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      const opened = await openWorkloads(choice, this.#options, AbortSignal.any([this.#signal, closing.signal]))
      opened.stopped.catch(this.#fail)
      this.#opened.set(key, { ...opened, close: () => closing.abort() })
      return opened.provider
    } finally {
      // Another choice must not end what was opened by then.
      signal.removeEventListener('abort', giveUp)
    }
  }
}

/** What is chosen, or why nothing can be: the same text for the same choice. */
function textOf(choose: Following['choose'], feed: SnapshotFeed): string {
  try {
    return keyOf(choose(feed, false))
  } catch (error) {
    return errorMessage(error)
  }
}

function keyOf(choices: ProviderChoices): string {
  return JSON.stringify(choices)
}
