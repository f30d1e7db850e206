import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { OsmError } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import { FairTurns } from '../async/index.js'
import type { ObjectOrigin, Problem } from '../problem.js'
import type { SpecErrorCode } from './error-codes.js'
import { parseFieldPath } from './field-path.js'
import { FolderState, type Hints } from './folder/folder-state.js'
import { FolderWatcher } from './folder/folder-watcher.js'
import { isSpecFileName, reasonOf } from './folder/list-files.js'
import { readDocumentsInSteps } from './folder/read-documents.js'
import type { HeldOther } from './folder/resolve-others.js'
import type { HeldSecret } from './folder/resolve-secrets.js'
import { ObjectDecoder } from './object-decoder.js'
import { PatternChecker } from './pattern.js'
import type { ObjectSource, SourceChange } from './object-source.js'
import type { MeshObject, ObjectKey } from './objects.js'

/** Settings of a {@link YamlFolderSource}. */
export interface YamlFolderOptions {
  /** Name of the source; the folder when absent. */
  readonly name?: string
  /** The folder, relative to the working directory or absolute. Origins name files by it. */
  readonly folder: string
  readonly defaultNamespace?: string
  /** `runtime` for the state folder of the supervisor, which holds WorkloadInstances and nothing else. */
  readonly writtenBy?: 'user' | 'runtime'
  readonly times?: Partial<FolderTimes>
  /** True: objects in groups of others, such as those of endpoints providers, are held and not reported; see {@link YamlFolderSource.others}. */
  readonly holdsOtherKinds?: boolean
  /** Told of faults of the program, such as a listener that throws. They become uncaught errors when absent. */
  readonly onFault?: (error: unknown) => void
}

/** Times in milliseconds. */
export interface FolderTimes {
  /** How long events are gathered before the folder is checked. */
  readonly debounceMs: number
  /** How long a changed file must stay the same before it is read. */
  readonly settleMs: number
  /** How long a file that looks half-written must stay the same before it is believed. */
  readonly graceMs: number
  /** How often the whole folder is checked, in case events were lost. */
  readonly pollMs: number
}

/** Files are read to their end, however long that takes: their size is bounded. */
const unhurried = { workMs: Infinity, timeoutMs: Infinity }
const defaultTimes: FolderTimes = { debounceMs: 20, settleMs: 30, graceMs: 400, pollMs: 5000 }
/** How often the folder is checked when not all of it can be watched. */
const unwatchedPollMs = 1000
/** A file that is written to without a pause does not hold up the start for longer than this. */
const startCeilingMs = 2000

/** A folder of YAML and JSON files as a source of objects. Edits take effect while it runs. */
export class YamlFolderSource implements ObjectSource {
  readonly name: string
  readonly #folder: string
  readonly #times: FolderTimes
  readonly #state: FolderState
  readonly #watcher: FolderWatcher
  readonly #onFault: (error: unknown) => void
  readonly #listeners: Listeners<SourceChange>
  readonly #secretListeners: Listeners
  readonly #otherListeners: Listeners
  #hints: Set<string> | 'all' = new Set()
  #wake: (() => void) | undefined
  #pollMs: number
  #lastWholeLook = 0
  #started = false
  #finished: Promise<void> = Promise.resolve()

  constructor(options: YamlFolderOptions) {
    const { folder, defaultNamespace = 'default', writtenBy = 'user', holdsOtherKinds = false } = options
    const decoder = new ObjectDecoder(writtenBy, new PatternChecker())
    const turns = new FairTurns()
    this.name = options.name ?? folder
    this.#folder = folder
    this.#times = { ...defaultTimes, ...options.times }
    this.#pollMs = this.#times.pollMs
    this.#onFault = options.onFault ?? throwUncaught
    this.#listeners = new Listeners(this.#onFault)
    this.#secretListeners = new Listeners(this.#onFault)
    this.#otherListeners = new Listeners(this.#onFault)
    this.#state = new FolderState({
      folder,
      times: this.#times,
      parse: (file, text, mode) =>
        turns.run(readDocumentsInSteps(text, decoder, { file, defaultNamespace, mode, holdsOtherKinds }), unhurried),
    })
    this.#watcher = new FolderWatcher((path) => {
      this.#hint(path)
    })
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`source ${this.name} was started twice`)
    this.#started = true
    signal.throwIfAborted()
    const deadline = performance.now() + startCeilingMs
    try {
      for (;;) {
        const { waitMs, failure, watching } = await this.#look('all')
        if (failure !== undefined) throw this.#cannotStart(failure)
        if (watching && (waitMs === undefined || performance.now() > deadline)) break
        await sleep(waitMs ?? 0, undefined, { signal })
      }
    } catch (error) {
      this.#watcher.close()
      throw error
    }
    this.#finished = this.#run(signal)
  }

  /** Resolves when the source has stopped after its signal aborted. */
  finished(): Promise<void> {
    return this.#finished
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  problems(): readonly Problem[] {
    return this.#state.problems
  }

  objects(): readonly MeshObject[] {
    return [...this.#state.held.values()].map(({ object }) => object)
  }

  /** Secrets that are written down in the folder, by `<namespace>/<name>`. They are not objects of the mesh, and in none of its snapshots. */
  secrets(): ReadonlyMap<string, HeldSecret> {
    return this.#state.secrets
  }

  /** Calls the listener whenever {@link secrets} gives another answer, before other listeners hear of the same edit. The result ends it. */
  onSecrets(listener: () => void): () => void {
    return this.#secretListeners.add(listener)
  }

  /** Objects of kinds that the mesh does not read itself. */
  others(): readonly HeldOther[] {
    return [...this.#state.others.values()]
  }

  /** Calls the listener whenever {@link others} gives another answer. The result ends it. */
  onOthers(listener: () => void): () => void {
    return this.#otherListeners.add(listener)
  }

  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined {
    return this.#state.held.get(key)?.definition.locate(field === undefined ? [] : parseFieldPath(field))
  }

  async #run(signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      this.#wake?.()
    }
    signal.addEventListener('abort', stop, { once: true })
    let waitMs: number | undefined
    while (!signal.aborted) {
      await this.#idle(waitMs)
      if (this.#hasHints()) await sleep(this.#times.debounceMs)
      waitMs = await this.#step(signal)
    }
    signal.removeEventListener('abort', stop)
    this.#watcher.close()
  }

  /** One look, and word of it to the listeners. A fault of the program must not end the watching. */
  async #step(signal: AbortSignal): Promise<number | undefined> {
    if (signal.aborted) return undefined
    try {
      const pollIsDue = performance.now() - this.#lastWholeLook >= this.#pollMs
      const hints = pollIsDue ? 'all' : this.#hints
      this.#hints = new Set()
      const { change, waitMs, watching } = await this.#look(hints)
      if (change !== undefined) this.#listeners.notify(change)
      return watching ? waitMs : 0
    } catch (error) {
      this.#onFault(error)
      return undefined
    }
  }

  async #look(hints: Hints): Promise<{
    readonly change: SourceChange | undefined
    readonly waitMs: number | undefined
    readonly failure: unknown
    /** False if a directory came under watch only after the look: what happened in between is still to be seen. */
    readonly watching: boolean
  }> {
    const { secrets, others } = this.#state
    const { change, waitMs, directories, failure } = await this.#state.look(hints)
    if (secrets !== this.#state.secrets) this.#secretListeners.notify()
    if (others !== this.#state.others) this.#otherListeners.notify()
    // A failed look counts too: the next try waits for its turn.
    if (hints === 'all' || directories !== undefined) this.#lastWholeLook = performance.now()
    if (directories === undefined) return { change, waitMs, failure, watching: true }
    const { complete, added } = this.#watcher.update(directories)
    this.#pollMs = complete ? this.#times.pollMs : Math.min(this.#times.pollMs, unwatchedPollMs)
    if (added) this.#hints = 'all'
    return { change, waitMs, failure, watching: !added }
  }

  #hint(path: string | undefined): void {
    if (path === undefined || !isSpecFileName(basename(path))) this.#hints = 'all'
    else if (this.#hints !== 'all') this.#hints.add(path)
    this.#wake?.()
  }

  #hasHints(): boolean {
    return this.#hints === 'all' || this.#hints.size > 0
  }

  /** Resolves after the time, or sooner when there is a hint or the end. */
  #idle(waitMs: number | undefined): Promise<void> {
    if (this.#hasHints() || waitMs === 0) return Promise.resolve()
    const untilPoll = Math.max(this.#lastWholeLook + this.#pollMs - performance.now(), 1)
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, Math.min(waitMs ?? untilPoll, untilPoll))
      this.#wake = done
    })
  }

  #cannotStart(cause: unknown): OsmError<SpecErrorCode> {
    const message = `folder ${this.#folder} cannot be read: ${reasonOf(cause)}`
    return new OsmError('OSM_SPEC_FOLDER', message, { cause, details: { folder: this.#folder } })
  }
}

function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}
