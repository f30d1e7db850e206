import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { redactObject, redactText } from './redact.js'

/** Longest file, in characters; of a longer one the end is kept. */
const MAX_FILE = 4 * 1024 * 1024
/** Size of all files together, in characters. */
const MAX_TOTAL = 256 * 1024 * 1024

/** A file of a report, and how it went. */
export interface ReportEntry {
  readonly path: string
  /** What it holds, as a command or a sentence. */
  readonly source: string
  /** Absent where it could not be had. */
  readonly text?: string
  /** Why it could not be had, or what was cut off. */
  readonly note?: string
}

/** The files of a bug report. Everything passes the removal of secrets on its way in. */
export class ReportArchive {
  readonly #entries: ReportEntry[] = []
  readonly #toYaml: (value: unknown) => string
  #total = 0

  /** @param toYaml - writes objects */
  constructor(toYaml: (value: unknown) => string) {
    this.#toYaml = toYaml
  }

  /** In the order in which they were asked for. */
  get entries(): readonly ReportEntry[] {
    return this.#entries
  }

  /** Adds what is got: text as it is, anything else as YAML. What fails is listed with its reason, and the report goes on. */
  async add(path: string, source: string, get: () => Promise<unknown>): Promise<void> {
    try {
      const value = await get()
      if (value === undefined) this.#entries.push({ path, source, note: 'does not exist' })
      else this.#keep(path, source, typeof value === 'string' ? value : this.#toYaml(redactObject(value)))
    } catch (error) {
      this.#entries.push({ path, source, note: redactText(errorMessage(error)) })
    }
  }

  #keep(path: string, source: string, whole: string): void {
    const room = Math.min(MAX_FILE, MAX_TOTAL - this.#total)
    if (room <= 0) {
      this.#entries.push({ path, source, note: `left out: the report has ${MAX_TOTAL} characters` })
      return
    }
    // Cut first, so that the work on it is bounded; from the start of a line, so that no half of a key is left.
    const tail = whole.length > room ? whole.slice(whole.indexOf('\n', whole.length - room) + 1) : whole
    const text = redactText(tail)
    this.#total += text.length
    const note = tail.length < whole.length ? `the first ${whole.length - tail.length} characters were cut off` : ''
    this.#entries.push({ path, source, text, ...(note !== '' && { note }) })
  }
}
