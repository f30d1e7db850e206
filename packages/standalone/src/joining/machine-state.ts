import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

import {
  type CertificateAnswer,
  generateKeyPairFor,
  type JoinAnswer,
  type KeyPair,
  writeKeyRequest,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { writeFileAtomic } from '../state/write-file.js'
import type { MachineCredential } from './control-plane-client.js'
import type { JoinErrorCode } from './errors.js'

/** What a machine remembers of its place in the mesh. */
export interface Membership extends Omit<JoinAnswer, keyof CertificateAnswer> {
  /** URL of the control plane. */
  readonly controlPlane: string
  readonly name: string
  readonly ports: readonly { readonly port: number; readonly localPort: number }[]
  readonly listeners: { readonly first: number; readonly last: number }
  /** Present: connections are redirected. */
  readonly mode?: 'transparent'
}

/** What a machine whose connections are redirected has changed outside of its state folder. */
export interface MachineTraces {
  /** User of the sidecar, and group that bypasses it. */
  readonly uid: number
}

/**
 * The state folder of a machine: `machine.json`, the certificate, and its key, which is in no other place. Readable by its owner only.
 */
export class MachineState {
  readonly folder: string

  /** @throws OsmError with code `OSM_JOIN_STATE` */
  constructor(folder: string) {
    try {
      mkdirSync(resolve(folder), { recursive: true, mode: 0o700 })
      this.folder = realpathSync(resolve(folder))
    } catch (error) {
      throw unusable(folder, error)
    }
  }

  static exists(folder: string): boolean {
    return existsSync(resolve(folder, 'machine.json'))
  }

  /** Files of the sidecar. */
  get run(): string {
    return join(this.folder, 'run')
  }

  get processes(): string {
    return join(this.folder, 'processes.json')
  }

  get log(): string {
    return join(this.folder, 'sidecar.log')
  }

  /** What loaded drivers say of themselves. */
  get driversLog(): string {
    return join(this.folder, 'drivers.log')
  }

  /** Id of the process that keeps the sidecar running; undefined if none does. */
  get pid(): number | undefined {
    const pid = Number(this.#read('pid'))
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  }

  set pid(pid: number | undefined) {
    if (pid === undefined) rmSync(join(this.folder, 'pid'), { force: true })
    else writeFileAtomic(join(this.folder, 'pid'), String(pid))
  }

  /** The process whose reports the control plane took last; undefined before the first one. */
  get lastRun(): string | undefined {
    return this.#read('last-run')
  }

  set lastRun(run: string | undefined) {
    if (run !== undefined) writeFileAtomic(join(this.folder, 'last-run'), run)
  }

  /** Present while rules, names or files of the sidecar may be on the machine, also after a run that was killed. */
  get traces(): MachineTraces | undefined {
    const uid = Number(this.#read('transparent'))
    return Number.isInteger(uid) && uid > 0 ? { uid } : undefined
  }

  set traces(traces: MachineTraces | undefined) {
    if (traces === undefined) rmSync(join(this.folder, 'transparent'), { force: true })
    else writeFileAtomic(join(this.folder, 'transparent'), String(traces.uid))
  }

  /** Undefined before the machine has joined. */
  membership(): Membership | undefined {
    const text = this.#read('machine.json')
    if (text === undefined) return undefined
    try {
      const value: unknown = JSON.parse(text)
      if (isRecord(value) && isRecord(value.sidecar)) return value as unknown as Membership
    } catch {
      // Told below.
    }
    throw unusable(this.folder, new Error('machine.json describes no machine; remove the folder, and join again'))
  }

  saveMembership(membership: Membership): void {
    writeFileAtomic(join(this.folder, 'machine.json'), `${JSON.stringify(membership)}\n`)
  }

  /** The certificate that is in force; undefined if there is none, or it has expired. */
  credential(): MachineCredential | undefined {
    const [chain, key, roots] = [this.#read('chain.pem'), this.#read('key.pem'), this.#read('trust.json')]
    if (chain === undefined || key === undefined || roots === undefined) return undefined
    if (Date.parse(new X509Certificate(chain).validTo) <= Date.now()) return undefined
    return { chain, key, trustBundle: JSON.parse(roots) as string[] }
  }

  /** The key and its request. A machine that has lost the answer to its first request asks again with the same key. */
  async firstKey(): Promise<{ readonly key: string; readonly csr: string }> {
    const csr = this.#read('csr.pem')
    const key = this.#read('key.pem')
    if (csr !== undefined && key !== undefined) return { key, csr }
    const made = await newKey()
    writeFileAtomic(join(this.folder, 'key.pem'), made.key)
    writeFileAtomic(join(this.folder, 'csr.pem'), made.csr)
    return made
  }

  /** The key comes first: if the process ends in between, the pair does not fit, and the machine joins again. */
  saveCredential({ chain, key, trustBundle }: MachineCredential): void {
    writeFileAtomic(join(this.folder, 'trust.json'), JSON.stringify(trustBundle))
    writeFileAtomic(join(this.folder, 'key.pem'), key)
    writeFileAtomic(join(this.folder, 'chain.pem'), chain)
    rmSync(join(this.folder, 'csr.pem'), { force: true })
  }

  /** Removes all of it. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.folder, name), 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw unusable(this.folder, error)
    }
  }
}

/** A fresh key, and a request that proves it. */
export async function newKey(): Promise<{ readonly key: string; readonly csr: string }> {
  const pair: KeyPair = await generateKeyPairFor({ algorithm: 'ECDSA' })
  return { key: pair.privateKey, csr: writeKeyRequest(pair) }
}

function unusable(folder: string, cause: unknown): OsmError<JoinErrorCode> {
  return new OsmError('OSM_JOIN_STATE', `the state folder ${folder} cannot be used: ${errorMessage(cause)}`, { cause })
}
