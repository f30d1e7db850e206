import { inspect } from 'node:util'

import type { Authority } from './kinds.js'

/** A root with its key, as a store keeps it. The key is in no string, JSON or inspection of the object. */
export class CaMaterial {
  /** PEM. */
  readonly certificate: string
  /** Names the two, for error messages: paths of files, or a Secret and its keys. */
  readonly origin: { readonly certificate: string; readonly privateKey: string }
  readonly #privateKey: string

  constructor(certificate: string, privateKey: string, origin: CaMaterial['origin']) {
    this.certificate = certificate
    this.origin = origin
    this.#privateKey = privateKey
  }

  /** PEM, PKCS#8. Secret. */
  privateKey(): string {
    return this.#privateKey
  }

  [inspect.custom](): string {
    return `CaMaterial ${JSON.stringify(this.origin)}`
  }
}

/**
 * Keeps the roots of the built-in CA over restarts and shares them between processes.
 *
 * A root is written once and never overwritten: anyone who comes second is given what the first has written.
 */
export interface CaStore {
  /**
   * The stored root, or undefined if there is none yet. What is stored but cannot be read as a whole is an error,
   * never "none".
   *
   * @throws OsmError with code `OSM_CERT_STORE_CORRUPT`, `OSM_CERT_STORE_PERMISSIONS` or `OSM_CERT_STORE_IO`
   */
  load(authority: Authority): Promise<CaMaterial | undefined>
  /**
   * Stores a root unless there is one, in one step that is done or not done. Resolves to the root that is stored now,
   * which another process may have written.
   *
   * @throws OsmError as {@link load}, or with code `OSM_CERT_STORE_FULL`
   */
  create(authority: Authority, certificate: string, privateKey: string): Promise<CaMaterial>
}

/** Roots that live as long as the process, for tests and dry runs. */
export class MemoryCaStore implements CaStore {
  readonly #roots = new Map<Authority, CaMaterial>()

  async load(authority: Authority): Promise<CaMaterial | undefined> {
    return this.#roots.get(authority)
  }

  async create(authority: Authority, certificate: string, privateKey: string): Promise<CaMaterial> {
    const present = this.#roots.get(authority)
    if (present !== undefined) return present
    const origin = { certificate: `${authority} root in memory`, privateKey: `key of the ${authority} root in memory` }
    const material = new CaMaterial(certificate, privateKey, origin)
    this.#roots.set(authority, material)
    return material
  }
}
