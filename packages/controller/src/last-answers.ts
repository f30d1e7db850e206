import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'

import { isPlainObject, type ProcessLogger } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

/** Characters of the file. Larger answers are not kept. */
const MAX_CHARACTERS = 32 << 20
/** Time that answers are collected for before the file is written, in milliseconds. */
const COLLECT_MS = 1_000

/** What {@link LastAnswers} needs. */
export interface LastAnswersOptions {
  readonly path: string
  readonly setTimer: (callback: () => void, delayMs: number) => () => void
  readonly logger: ProcessLogger
}

/**
 * The last answer of each endpoints provider in a file, so that a controller that starts again does not take endpoints away while a provider or its API is unavailable. A file that
 * cannot be read or written is as none: the answers come again.
 */
export class LastAnswers {
  readonly #options: LastAnswersOptions
  readonly #answers: Map<string, unknown>
  #cancel: (() => void) | undefined
  #written: Promise<void> = Promise.resolve()

  constructor(options: LastAnswersOptions) {
    this.#options = options
    this.#answers = new Map(Object.entries(read(options)))
  }

  /** The last answer of a provider, unchecked. */
  get(provider: string): unknown {
    return this.#answers.get(provider)
  }

  /** Keeps an answer. */
  put(provider: string, answer: unknown): void {
    this.#answers.set(provider, answer)
    this.#cancel ??= this.#options.setTimer(() => this.#write(), COLLECT_MS)
  }

  /** Forgets providers that are not in use. */
  keepOnly(providers: readonly string[]): void {
    for (const name of this.#answers.keys()) if (!providers.includes(name)) this.#answers.delete(name)
  }

  /** Writes what has not been written. Resolves when the file is closed; never rejects. */
  async close(): Promise<void> {
    if (this.#cancel !== undefined) this.#write()
    await this.#written
  }

  #write(): void {
    this.#cancel?.()
    this.#cancel = undefined
    const text = JSON.stringify(Object.fromEntries(this.#answers))
    this.#written = this.#written.then(() => this.#replace(text))
  }

  async #replace(text: string): Promise<void> {
    const { path, logger } = this.#options
    const temporary = `${path}.tmp`
    try {
      if (text.length > MAX_CHARACTERS)
        throw new RangeError(`the answers have ${text.length} characters; ${MAX_CHARACTERS} are kept`)
      await writeFile(temporary, text, { mode: 0o600 })
      await rename(temporary, path)
    } catch (error) {
      logger.warn({ path, reason: errorMessage(error) }, 'the last answers of endpoints providers cannot be kept')
      await rm(temporary, { force: true }).catch(() => undefined)
    }
  }
}

function read({ path, logger }: LastAnswersOptions): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (isPlainObject(value)) return value
    throw new TypeError('it must be an object')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      logger.warn({ path, reason: errorMessage(error) }, 'the last answers of endpoints providers cannot be read')
    return {}
  }
}
