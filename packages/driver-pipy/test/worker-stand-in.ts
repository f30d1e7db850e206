import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { type Answer, type ClientOptions, RepoClient } from './repo-client.js'

/** What a worker is started with. */
export interface WorkerOptions extends ClientOptions {
  readonly uuid: string
  /** `<service account>.<namespace>`. */
  readonly identity: string
  /** Milliseconds between two looks at the repo; 5,000 in Pipy. */
  readonly periodMs?: number
  /** When it began, as its status says. */
  readonly since?: number
  /** What its script does with a document. What it throws makes it refuse the document. */
  readonly apply?: (document: Readonly<Record<string, unknown>>) => void
  /** The script never says what it has: it polls once, and then hangs. */
  readonly silent?: boolean
  /** Called before each file of a download. */
  readonly beforeFile?: (path: string) => Promise<void>
  /** Watches that file, once, as pipy.watch does. */
  readonly watch?: string
}

/**
 * Behaves towards the repo server as a worker of Pipy 1.5 does, with what is wrong in it: it remembers the ETag of a manifest before it has the files, and
 * so never asks again for those that it did not get; it reports no version before its first reload; the first look at a watched file only takes note of it.
 */
export class WorkerStandIn {
  /** Files of the codebase that runs. */
  files: ReadonlyMap<string, string> = new Map()
  loads = 0
  /** Revision of the document in force. */
  revision = ''
  /** Documents in the order in which they came, as text. */
  readonly documents: string[] = []
  /** Statuses of answers to polls. */
  readonly polls: number[] = []
  readonly watched: string[] = []
  reloads = 0
  /** Messages of what failed. */
  readonly failures: string[] = []
  readonly #options: WorkerOptions
  readonly #stop = new AbortController()
  readonly #repo: RepoClient
  readonly #config: RepoClient
  readonly #folder: string
  readonly #tasks: Promise<void>[] = []
  #manifestTag = ''
  #version = ''
  #watchTag: string | undefined
  #link: Socket | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#repo = new RepoClient(options)
    this.#config = new RepoClient(options)
    this.#folder = `/repo/osm-edge-sidecar/${options.uuid}.sidecar.${options.identity}/`
  }

  get version(): string {
    return this.#version
  }

  /** Runs until {@link stop}. */
  start(): void {
    this.#tasks.push(this.#run())
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#link?.destroy()
    this.#repo.close()
    this.#config.close()
    await Promise.all(this.#tasks)
  }

  get #period(): number {
    return this.#options.periodMs ?? 5_000
  }

  async #run(): Promise<void> {
    while (!(await this.#download())) if (!(await this.#rest())) return
    this.#tasks.push(this.#keepLink(), this.#script())
    while (await this.#rest()) await this.#look()
  }

  /** @returns false if it was stopped meanwhile */
  async #rest(): Promise<boolean> {
    try {
      await delay(this.#period, undefined, { signal: this.#stop.signal })
      return true
    } catch {
      return false
    }
  }

  async #look(): Promise<void> {
    try {
      const head = await this.#repo.send('HEAD', this.#folder)
      if (head.status === 200 && head.headers.etag !== this.#manifestTag) {
        if (await this.#download()) this.#version = this.#manifestTag
      } else await this.#lookAtWatched()
      const { uuid, since = 1 } = this.#options
      const status = { uuid, name: uuid, since, version: this.#version, timestamp: 0, modules: {} }
      await this.#repo.send('POST', this.#folder, JSON.stringify(status))
    } catch (error) {
      this.failures.push(String(error))
    }
  }

  async #lookAtWatched(): Promise<void> {
    const { watch } = this.#options
    if (watch === undefined || this.watched.length > 0) return
    const path = `${this.#folder}${watch.slice(1)}`
    const { headers } = await this.#repo.send('HEAD', path)
    const before = this.#watchTag
    this.#watchTag = headers.etag
    if (before !== undefined && before !== headers.etag) this.watched.push((await this.#repo.get(path)).body)
  }

  /** @returns false if a file did not come: nothing of it is then used, and nothing of it is asked for again */
  async #download(): Promise<boolean> {
    const files = new Map<string, string>()
    try {
      const manifest = await this.#repo.get(this.#folder)
      if (manifest.status !== 200) throw new Error(`manifest: ${manifest.status}`)
      this.#manifestTag = manifest.headers.etag ?? ''
      for (const path of manifest.body.split('\n').filter((line) => line !== '')) {
        await this.#options.beforeFile?.(path)
        const file = await this.#repo.get(`${this.#folder}${path.slice(1)}`)
        if (file.status === 404) continue
        if (file.status !== 200) throw new Error(`${path}: ${file.status}`)
        files.set(path, file.body)
      }
    } catch (error) {
      this.failures.push(String(error))
      return false
    }
    this.files = files
    this.loads += 1
    return true
  }

  async #keepLink(): Promise<void> {
    do {
      try {
        const link = await this.#repo.upgrade(`${this.#folder}${this.#options.uuid}`)
        this.#link = link
        this.#listen(link)
        await new Promise<void>((resolve) => link.once('close', resolve))
      } catch (error) {
        this.failures.push(String(error))
      }
    } while (await this.#rest())
  }

  #listen(link: Socket): void {
    link.on('error', () => undefined)
    link.on('data', (frame: Buffer) => {
      if (frame.subarray(2).toString() !== 'reload') return
      this.reloads += 1
      this.#tasks.push(
        this.#download().then((complete) => {
          if (complete) this.#version = this.#manifestTag
        }),
      )
    })
  }

  /** The long poll of the codebase. */
  async #script(): Promise<void> {
    let refused = ''
    while (!this.#stop.signal.aborted) {
      let answer: Answer
      try {
        answer = await this.#config.get(`/config?rev=${this.revision}${refused}`)
      } catch {
        if (!(await this.#rest())) return
        continue
      }
      this.polls.push(answer.status)
      refused = ''
      if (answer.status === 200) {
        this.documents.push(answer.body)
        if (this.#options.silent === true) return
        refused = this.#take(answer)
      } else if (answer.status !== 204 && !(await this.#rest())) return
    }
  }

  #take({ body, headers }: Answer): string {
    const revision = String(headers['osm-revision'])
    try {
      this.#options.apply?.(JSON.parse(body) as Readonly<Record<string, unknown>>) // the server answers with an object
      this.revision = revision
      return ''
    } catch (error) {
      return `&refused=${revision}&error=${encodeURIComponent(String(error))}`
    }
  }
}
