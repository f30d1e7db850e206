import type { KubernetesApi, KubernetesManifest, KubernetesObject } from '../src/api.js'
import type { Clock } from '@osm-ts/core'
import { KubernetesError } from '../src/kubernetes-error.js'

/** How many are in a section that only one may be in. */
class Terms {
  #inside = 0
  #overlapped = false

  enter(): () => void {
    this.#inside += 1
    this.#overlapped ||= this.#inside > 1
    return () => (this.#inside -= 1)
  }

  overlap(): boolean {
    return this.#overlapped
  }
}

/** One Lease, and a network in the hands of the test between it and those who want it. */
export class FakeLeases {
  readonly terms = new Terms()
  readonly #clock: Clock
  readonly #cutOff = new Set<string>()
  readonly #answersToLose = new Map<string, number>()
  #version = 1
  #delayMs = 0
  stored: KubernetesObject | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The API server as a candidate sees it. */
  api(who: string): KubernetesApi {
    const api: Pick<KubernetesApi, 'get' | 'create' | 'replace'> = {
      get: (_type, _name, signal) => this.#call(who, signal, () => this.stored),
      create: (_type, manifest, { signal }) => this.#call(who, signal, () => this.#create(manifest)),
      replace: (_type, manifest, { signal }) => this.#call(who, signal, () => this.#replace(manifest)),
    }
    return api as KubernetesApi // an elector uses nothing else
  }

  /** From now on its requests get nowhere, and it hears nothing. */
  cutOff(who: string): void {
    this.#cutOff.add(who)
  }

  reconnect(who: string): void {
    this.#cutOff.delete(who)
  }

  /** Its next requests arrive, and their answers do not. */
  loseAnswers(who: string, count: number): void {
    this.#answersToLose.set(who, count)
  }

  /** The next request arrives late. */
  delayNext(delayMs: number): void {
    this.#delayMs = delayMs
  }

  heal(): void {
    this.#cutOff.clear()
    this.#answersToLose.clear()
    this.#delayMs = 0
  }

  /** Somebody writes labels. */
  touch(labels: Readonly<Record<string, string>>): void {
    if (this.stored !== undefined) this.#store({ ...this.stored, metadata: { ...this.stored.metadata, labels } })
  }

  /** Somebody takes the Lease against all rules. */
  seize(holderIdentity: string): void {
    const { spec } = this.stored!
    this.#store({ ...this.stored!, spec: { ...(spec as object), holderIdentity } })
  }

  remove(): void {
    this.stored = undefined
  }

  /** A request travels, is carried out, and its answer travels back; anyone who gave up does not take it back. */
  async #call<T>(who: string, signal: AbortSignal, work: () => T): Promise<T> {
    const delayMs = this.#delayMs
    this.#delayMs = 0
    const answer = new Promise<T>((resolve, reject) => {
      const arrive = (): void => {
        try {
          const result = work()
          const lost = this.#answersToLose.get(who) ?? 0
          this.#answersToLose.set(who, Math.max(0, lost - 1))
          if (lost === 0 && !this.#cutOff.has(who)) resolve(result)
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      }
      if (!this.#cutOff.has(who)) {
        if (delayMs > 0) this.#clock.setTimer(arrive, delayMs)
        else setImmediate(arrive)
      }
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    return answer
  }

  #create(manifest: KubernetesManifest): KubernetesObject {
    if (this.stored !== undefined) throw new KubernetesError('OSM_KUBERNETES_CONFLICT', 'it exists')
    return this.#store(manifest)
  }

  #replace(manifest: KubernetesManifest): KubernetesObject {
    if (this.stored === undefined) throw new KubernetesError('OSM_KUBERNETES_NOT_FOUND', 'it does not exist')
    if (manifest.metadata.resourceVersion !== this.stored.metadata.resourceVersion) {
      throw new KubernetesError('OSM_KUBERNETES_CONFLICT', 'it was modified')
    }
    return this.#store(manifest)
  }

  #store(manifest: KubernetesManifest): KubernetesObject {
    this.#version += 1
    this.stored = { ...manifest, metadata: { ...manifest.metadata, resourceVersion: String(this.#version) } }
    return this.stored
  }
}
