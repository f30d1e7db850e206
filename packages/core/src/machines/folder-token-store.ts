import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isOsmError, OsmError } from '@osm-ts/driver-api'

import { hasCode } from '../certificates/file-ca-store.js'
import type { MachineErrorCode } from './errors.js'
import type { StoredToken, TokenUse } from './join-token.js'
import { MAX_TOKENS, type TokenStore } from './token-store.js'

const ID = /^[0-9a-f]{16}$/
const TOKEN = '.json'
const USE = '.use'

/**
 * Tokens as files of a folder, readable by their owner only: `<id>.json`, and `<id>.use` once it was used.
 *
 * Processes share the folder: one makes tokens, another uses them. A link to a name that exists fails, so exactly one use is recorded.
 */
export class FolderTokenStore implements TokenStore {
  readonly #folder: string
  readonly #now: () => number

  /** @param folder - made with its parents when the first token is stored */
  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
  }

  async add(token: StoredToken): Promise<void> {
    await this.#attempt(async () => {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await this.#sweep()
      await this.#write(`${token.id}${TOKEN}`, token)
    })
  }

  async read(id: string): Promise<StoredToken | undefined> {
    if (!ID.test(id)) return undefined
    return this.#attempt(async () => {
      const token = (await this.#parse(`${id}${TOKEN}`)) as StoredToken | undefined
      const use = token && ((await this.#parse(`${id}${USE}`)) as TokenUse | undefined)
      return token && use ? { ...token, use } : token
    })
  }

  async use({ id }: StoredToken, use: TokenUse): Promise<TokenUse | undefined> {
    return this.#attempt(async () => {
      const temporary = join(this.#folder, `.${id}.${use.uuid}`)
      await writeFile(temporary, JSON.stringify(use), { mode: 0o600, flag: 'wx' })
      try {
        await link(temporary, join(this.#folder, `${id}${USE}`))
        return use
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error
        return (await this.#parse(`${id}${USE}`)) as TokenUse | undefined
      } finally {
        await rm(temporary, { force: true })
      }
    })
  }

  /** Removes what has expired. */
  async #sweep(): Promise<void> {
    let kept = 0
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith(TOKEN)) continue
      const id = name.slice(0, -TOKEN.length)
      const token = (await this.#parse(name)) as StoredToken | undefined
      if (token !== undefined && token.expiresAt > this.#now()) kept += 1
      else for (const ending of [TOKEN, USE]) await rm(join(this.#folder, `${id}${ending}`), { force: true })
    }
    if (kept >= MAX_TOKENS)
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKENS',
        `${this.#folder} holds ${kept} join tokens that have not expired, which is the limit`,
      )
  }

  async #write(name: string, content: unknown): Promise<void> {
    const temporary = join(this.#folder, `.${name}`)
    await writeFile(temporary, JSON.stringify(content), { mode: 0o600 })
    await rename(temporary, join(this.#folder, name))
  }

  async #parse(name: string): Promise<unknown> {
    try {
      return JSON.parse(await readFile(join(this.#folder, name), 'utf8'))
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isOsmError(error)) throw error
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKEN_STORE',
        `join tokens in ${this.#folder} cannot be read or written: ${String(error)}`,
        { cause: error },
      )
    }
  }
}
