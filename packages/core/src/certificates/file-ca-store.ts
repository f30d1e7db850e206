import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'

import { isOsmError, OsmError } from '@osm-ts/driver-api'

import { CaMaterial, type CaStore } from './ca-store.js'
import type { CertificateErrorCode } from './errors.js'
import type { Authority } from './kinds.js'

/** The calls of `node:fs/promises` that the store makes. */
export type CaFileSystem = Pick<typeof nodeFs, 'mkdir' | 'mkdtemp' | 'open' | 'readFile' | 'rename' | 'rm' | 'stat'>

const CERTIFICATE = 'ca.crt'
const PRIVATE_KEY = 'ca.key'
const ACCESS_BY_OTHERS = 0o077

/**
 * Roots in a folder: `<folder>/<authority>/ca.crt` and `ca.key`, accessible to the owner only.
 *
 * Certificate and key have to appear together or not at all, and two processes that start at once have to end with the
 * same root. So both files are written and synced in a fresh folder beside, which is then renamed to its final name. A
 * rename is atomic, and it fails if a folder that holds something is already there: exactly one process wins, and the
 * others read what it wrote.
 */
export class FileCaStore implements CaStore {
  readonly #folder: string
  readonly #fs: CaFileSystem

  /** @param folder - made with its parents when the first root is stored */
  constructor(folder: string, fs: CaFileSystem = nodeFs) {
    this.#folder = folder
    this.#fs = fs
  }

  async load(authority: Authority): Promise<CaMaterial | undefined> {
    const folder = join(this.#folder, authority)
    const origin = { certificate: join(folder, CERTIFICATE), privateKey: join(folder, PRIVATE_KEY) }
    let certificate = await this.#read(origin.certificate)
    const privateKey = await this.#read(origin.privateKey)
    if (certificate === undefined && privateKey === undefined) return undefined
    // Another process may have renamed its folder between the two reads.
    certificate ??= await this.#read(origin.certificate)
    if (certificate === undefined) throw incomplete(origin.certificate, origin.privateKey)
    if (privateKey === undefined) throw incomplete(origin.privateKey, origin.certificate)
    for (const path of [this.#folder, folder, origin.privateKey]) await this.#checkAccess(path)
    return new CaMaterial(certificate, privateKey, origin)
  }

  async create(authority: Authority, certificate: string, privateKey: string): Promise<CaMaterial> {
    const target = join(this.#folder, authority)
    let temporary: string | undefined
    try {
      await this.#fs.mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await this.#checkAccess(this.#folder)
      temporary = await this.#fs.mkdtemp(join(this.#folder, `.${authority}-`)) // made with mode 0700
      await this.#write(join(temporary, CERTIFICATE), certificate, 0o644)
      await this.#write(join(temporary, PRIVATE_KEY), privateKey, 0o600)
      await this.#sync(temporary)
      await this.#fs.rename(temporary, target)
      temporary = undefined
      await this.#sync(this.#folder)
    } catch (error) {
      if (isOsmError(error)) throw error
      if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw storeError(error, target)
    } finally {
      // Litter at worst: no name under which a root is looked for.
      if (temporary !== undefined) await this.#fs.rm(temporary, { recursive: true, force: true }).catch(() => undefined)
    }
    const stored = await this.load(authority)
    if (stored !== undefined) return stored
    throw new OsmError<CertificateErrorCode>('OSM_CERT_STORE_IO', `${target} was removed while it was written`)
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return await this.#fs.readFile(path, 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw storeError(error, path)
    }
  }

  async #write(path: string, content: string, mode: number): Promise<void> {
    const file = await this.#fs.open(path, 'wx', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Names of files are data of their folder, so the folder is synced as well. */
  async #sync(folder: string): Promise<void> {
    const handle = await this.#fs.open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async #checkAccess(path: string): Promise<void> {
    const { mode } = await this.#fs.stat(path).catch((error: unknown) => {
      throw storeError(error, path)
    })
    if ((mode & ACCESS_BY_OTHERS) === 0) return
    const access = (mode & 0o777).toString(8).padStart(4, '0')
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_STORE_PERMISSIONS',
      `${path} has mode ${access}: other users could read or replace the key of a root; run "chmod go= ${path}"`,
      { details: { path } },
    )
  }
}

function incomplete(missing: string, present: string): OsmError {
  return new OsmError<CertificateErrorCode>(
    'OSM_CERT_STORE_CORRUPT',
    `${missing} is missing although ${present} is there; restore it, or remove both to start over with a new root`,
    { details: { path: missing } },
  )
}

function storeError(error: unknown, path: string): OsmError {
  const full = hasCode(error, 'ENOSPC', 'EDQUOT')
  return new OsmError<CertificateErrorCode>(
    full ? 'OSM_CERT_STORE_FULL' : 'OSM_CERT_STORE_IO',
    full ? `no space left to store ${path}` : `${path}: ${(error as Error).message}`, // node:fs throws nothing else
    { cause: error, details: { path } },
  )
}

/** True for an error of the operating system with one of these codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code))
}
