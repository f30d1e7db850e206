import { dirname, sep } from 'node:path'

import { compareProblems, type Problem } from '../../problem.js'
import { sameValue } from '../content.js'
import type { SpecErrorCode } from '../error-codes.js'
import type { SourceChange } from '../object-source.js'
import type { MeshObject, ObjectKey } from '../objects.js'
import { listFiles, reasonOf, stampFile, unreadableStamp, type FileStamp } from './list-files.js'
import { resolveDefinitions, type HeldObject } from './resolve-definitions.js'
import { resolveOthers, type HeldOther } from './resolve-others.js'
import { resolveSecrets, type HeldSecret } from './resolve-secrets.js'
import { TrackedFile, type FilePhase, type ParseFile, type SettleTimes } from './tracked-file.js'

/** What a {@link FolderState} is made of. */
export interface FolderStateOptions {
  readonly folder: string
  readonly times: SettleTimes
  readonly parse: (file: string, ...content: Parameters<ParseFile>) => ReturnType<ParseFile>
}

/** Paths that may have changed, or the whole folder. */
export type Hints = ReadonlySet<string> | 'all'

/** The outcome of a look at the folder. */
export interface Look {
  /** What changed in content or problems, if anything. */
  readonly change: SourceChange | undefined
  /** When to look again at files that have not settled; undefined if all have. */
  readonly waitMs: number | undefined
  /** Directories to watch; undefined if the look was at single files only. */
  readonly directories: ReadonlyMap<string, string> | undefined
  /** The error that kept the folder itself from being read. */
  readonly failure: unknown
}

/** Files that settle hold up the others, so that an edit of several files counts as one; but not longer than this. */
const ceilingMs = 1000
const parallelReads = 8

/** What is known of a folder: its files, the objects in force, and the problems. Looks only when told to. */
export class FolderState {
  readonly #options: FolderStateOptions
  readonly #files = new Map<string, TrackedFile>()
  readonly #pending = new Set<string>()
  #directories: ReadonlyMap<string, string> = new Map()
  #folderProblems: readonly Problem[] = []
  #settlingSince: number | undefined
  #held: ReadonlyMap<ObjectKey, HeldObject> = new Map()
  #problems: readonly Problem[] = []
  #secrets: ReadonlyMap<string, HeldSecret> = new Map()
  #others: ReadonlyMap<string, HeldOther> = new Map()

  constructor(options: FolderStateOptions) {
    this.#options = options
  }

  get held(): ReadonlyMap<ObjectKey, HeldObject> {
    return this.#held
  }

  get problems(): readonly Problem[] {
    return this.#problems
  }

  /** Secrets of the folder, by `<namespace>/<name>`. */
  get secrets(): ReadonlyMap<string, HeldSecret> {
    return this.#secrets
  }

  /** Objects of kinds that the mesh does not read itself, by group, kind, namespace and name. */
  get others(): ReadonlyMap<string, HeldOther> {
    return this.#others
  }

  /** Looks at the hinted files, and at those that have not settled, and takes over what has. */
  async look(hints: Hints): Promise<Look> {
    const whole = hints === 'all' || [...hints].some((path) => !this.#directories.has(dirname(path)))
    let failure: unknown
    if (whole) failure = await this.#lookAtFolder()
    else await this.#lookAtFiles(new Set([...hints, ...this.#pending]))

    const hadPending = this.#pending.size > 0
    const { ready, settlingMs, doubtfulMs } = await this.#sortByPhase()
    const directories = whole && failure === undefined ? this.#directories : undefined
    if (settlingMs !== undefined && this.#mayHoldUp())
      return { change: undefined, waitMs: settlingMs, directories, failure }
    if (settlingMs === undefined) this.#settlingSince = undefined
    for (const file of ready) file.accept()
    const change = whole || hadPending || this.#pending.size > 0 ? this.#resolve() : undefined
    const waits = [settlingMs, doubtfulMs].filter((wait) => wait !== undefined)
    return { change, waitMs: waits.length === 0 ? undefined : Math.min(...waits), directories, failure }
  }

  async #lookAtFolder(): Promise<unknown> {
    try {
      const { files, directories, unreadable } = await listFiles(this.#options.folder)
      this.#directories = directories
      this.#folderProblems = [...unreadable].map(([path, reason]) =>
        folderProblem('OSM_SPEC_FILE', path, `cannot be read: ${reason}; what it held before stays in force`),
      )
      for (const [path, stamp] of files) this.#observe(path, stamp)
      for (const path of this.#files.keys())
        if (!files.has(path) && ![...unreadable.keys()].some((directory) => path.startsWith(directory + sep)))
          this.#observe(path, undefined)
      return undefined
    } catch (error) {
      const { folder } = this.#options
      const message = `the folder cannot be read: ${reasonOf(error)}; what it held before stays in force`
      this.#folderProblems = [folderProblem('OSM_SPEC_FOLDER', folder, message)]
      return error
    }
  }

  async #lookAtFiles(paths: ReadonlySet<string>): Promise<void> {
    for (const path of paths) this.#observe(path, await stampFile(path).catch(() => unreadableStamp))
  }

  #observe(path: string, stamp: FileStamp | undefined): void {
    let file = this.#files.get(path)
    if (file === undefined) {
      if (stamp === undefined) return
      file = new TrackedFile(path, this.#options.times, (text, mode) => this.#options.parse(path, text, mode))
      this.#files.set(path, file)
    }
    file.observe(stamp, performance.now(), stamp === undefined ? 0 : Date.now() - stamp.changedAt)
    this.#pending.add(path)
  }

  async #sortByPhase(): Promise<{
    readonly ready: readonly TrackedFile[]
    readonly settlingMs: number | undefined
    readonly doubtfulMs: number | undefined
  }> {
    const ready: TrackedFile[] = []
    let settlingMs: number | undefined
    let doubtfulMs: number | undefined
    for (const { path, file, state } of await this.#phases()) {
      switch (state?.phase) {
        case 'settling':
          settlingMs = Math.min(settlingMs ?? state.waitMs, state.waitMs)
          break
        case 'doubtful':
          doubtfulMs = Math.min(doubtfulMs ?? state.waitMs, state.waitMs)
          break
        case 'ready':
          if (file !== undefined) ready.push(file)
          break
        case 'current':
        case undefined:
          this.#pending.delete(path)
          if (file?.isForgotten === true) this.#files.delete(path)
      }
    }
    return { ready, settlingMs, doubtfulMs }
  }

  /** Where all pending files stand. Reading is mostly waiting for the disk, so that some are read at a time. */
  async #phases(): Promise<
    readonly { readonly path: string; readonly file: TrackedFile | undefined; readonly state: FilePhase | undefined }[]
  > {
    const pending = [...this.#pending].map((path) => ({ path, file: this.#files.get(path) }))
    const found = []
    for (let start = 0; start < pending.length; start += parallelReads) {
      const slice = pending.slice(start, start + parallelReads)
      found.push(
        ...(await Promise.all(slice.map(async (it) => ({ ...it, state: await it.file?.phase(performance.now()) })))),
      )
    }
    return found
  }

  #mayHoldUp(): boolean {
    const now = performance.now()
    this.#settlingSince ??= now
    return now - this.#settlingSince < ceilingMs
  }

  #resolve(): SourceChange | undefined {
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file)
    const before = this.#held
    const contents = files.map((file) => file.content)
    const { held, problems: found } = resolveDefinitions(contents, before)
    this.#secrets = resolveSecrets(contents, this.#secrets)
    const others = resolveOthers(contents, this.#others)
    this.#others = others.held
    const problems = [
      ...this.#folderProblems,
      ...files.flatMap((file) => file.problems),
      ...found,
      ...others.problems,
    ].sort(compareProblems)
    const upserts: MeshObject[] = []
    for (const [key, { object }] of held) if (before.get(key)?.object !== object) upserts.push(object)
    const deletes = [...before.keys()].filter((key) => !held.has(key))
    const nothingNew = upserts.length === 0 && deletes.length === 0 && sameValue(problems, this.#problems)
    this.#held = held
    this.#problems = problems
    return nothingNew ? undefined : { upserts, deletes, problems }
  }
}

function folderProblem(code: SpecErrorCode, file: string, message: string): Problem {
  return { code, severity: 'error', message, origin: { kind: 'file', file, line: 1, column: 1 } }
}
