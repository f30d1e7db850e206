import { readFile } from 'node:fs/promises'

import type { Problem } from '../../problem.js'
import type { SpecErrorCode } from '../error-codes.js'
import { reasonOf, stampFile, type FileStamp } from './list-files.js'
import type { FileContent } from './resolve-definitions.js'
import type { Definition } from './read-documents.js'

/** Reads the objects of a file; takes the mode of the file too. Resolves when all of its turns are done. */
export type ParseFile = (text: string, mode: number) => Promise<readonly Definition[]>

/** Times, in milliseconds, that decide when a changed file is believed. */
export interface SettleTimes {
  /** A file must keep its stamp this long. */
  readonly settleMs: number
  /** A file that looks half-written must keep its stamp this long. */
  readonly graceMs: number
}

/** Largest file that is read. */
const maxFileBytes = 10 * 1024 * 1024

/** What a file needs before it is believed. */
export type FilePhase =
  /** What is known is what is there. */
  | { readonly phase: 'current' }
  /** Changed a moment ago; look again after `waitMs`. */
  | { readonly phase: 'settling'; readonly waitMs: number }
  /** Looks half-written or is gone, which may be a moment of a save; look again after `waitMs`. */
  | { readonly phase: 'doubtful'; readonly waitMs: number }
  /** Believable; {@link TrackedFile.accept} takes it over. */
  | { readonly phase: 'ready' }

interface Version {
  readonly signature: string
  readonly definitions: readonly Definition[]
  /** False for a file that lacks its last line end, and for one that could not be read. */
  readonly endsWithNewline: boolean
  readonly problems: readonly Problem[]
}

const absent = 'absent'

/**
 * One file of the folder, and when to believe it.
 *
 * Programs write files in steps. A change counts once the stamp has been the same for a while. A file that became
 * empty, vanished, or lost its last line end has probably been caught in the middle, and gets more time.
 */
export class TrackedFile {
  readonly #path: string
  readonly #times: SettleTimes
  readonly #parse: ParseFile
  #accepted: Version = { signature: absent, definitions: [], endsWithNewline: false, problems: [] }
  #candidate: Version | undefined
  #stamp: FileStamp | undefined
  #signature = absent
  #since = 0

  constructor(path: string, times: SettleTimes, parse: ParseFile) {
    this.#path = path
    this.#times = times
    this.#parse = parse
  }

  /** True if nothing is left to know of the file. */
  get isForgotten(): boolean {
    return this.#signature === absent && this.#accepted.signature === absent
  }

  get problems(): readonly Problem[] {
    return this.#accepted.problems
  }

  /** What counts of the file now. */
  get content(): FileContent {
    const { definitions } = this.#accepted
    const gone = this.#signature !== this.#accepted.signature && (this.#stamp === undefined || this.#stamp.size === 0)
    return { file: this.#path, definitions, fading: gone }
  }

  /**
   * Takes note of what the file system says.
   *
   * @param now - monotonic milliseconds
   * @param age - milliseconds since the file was last changed, by the clock of the file system
   */
  observe(stamp: FileStamp | undefined, now: number, age: number): void {
    const signature = stamp?.signature ?? absent
    this.#stamp = stamp
    if (signature === this.#signature) return
    this.#signature = signature
    // A file that was left alone before anyone looked has settled already.
    const alone = stamp === undefined ? 0 : Math.min(Math.max(age, 0), this.#times.settleMs)
    this.#since = now - alone
    this.#candidate = undefined
  }

  /** Where the file stands. Reads it when it has settled. */
  async phase(now: number): Promise<FilePhase> {
    if (this.#signature === this.#accepted.signature) return { phase: 'current' }
    const { settleMs, graceMs } = this.#times
    const settling = this.#since + settleMs - now
    if (settling > 0) return { phase: 'settling', waitMs: settling }
    const candidate = (this.#candidate ??= await this.#read())
    // Written to while it was read.
    if (candidate === undefined) return { phase: 'settling', waitMs: settleMs }
    const grace = this.#since + graceMs - now
    return grace > 0 && this.#looksHalfWritten(candidate) ? { phase: 'doubtful', waitMs: grace } : { phase: 'ready' }
  }

  /** Makes the version that was found ready the accepted one. */
  accept(): void {
    if (this.#candidate === undefined) return
    this.#accepted = this.#candidate
    this.#candidate = undefined
  }

  #looksHalfWritten(candidate: Version): boolean {
    if (this.#accepted.definitions.length === 0 || candidate.problems.length > 0) return false
    return candidate.definitions.length === 0 || (this.#accepted.endsWithNewline && !candidate.endsWithNewline)
  }

  async #read(): Promise<Version | undefined> {
    const signature = this.#signature
    if (this.#stamp === undefined) return { signature, definitions: [], endsWithNewline: false, problems: [] }
    if (this.#stamp.size > maxFileBytes)
      return this.#unread(`is ${this.#stamp.size} bytes large; at most ${maxFileBytes} are read. Split it`)
    try {
      const text = await readFile(this.#path, 'utf8')
      const after = await stampFile(this.#path)
      if (after?.signature !== signature && signature !== 'unreadable') return undefined
      const definitions = await this.#parse(text, after?.mode ?? 0)
      return { signature, definitions, endsWithNewline: text.endsWith('\n'), problems: [] }
    } catch (error) {
      return this.#unread(`cannot be read: ${reasonOf(error)}`)
    }
  }

  /** A version that keeps what the file held before and says why. */
  #unread(reason: string): Version {
    const code: SpecErrorCode = 'OSM_SPEC_FILE'
    const { definitions } = this.#accepted
    const rest = definitions.length === 0 ? '' : '; what it held before stays in force'
    const origin = { kind: 'file', file: this.#path, line: 1, column: 1 } as const
    return {
      signature: this.#signature,
      definitions,
      endsWithNewline: false,
      problems: [{ code, severity: 'error', message: `${reason}${rest}`, origin }],
    }
  }
}
