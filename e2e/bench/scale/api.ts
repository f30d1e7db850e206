import type { KubernetesApi, KubernetesManifest } from '@osm-ts/kubernetes'
import { openKubernetes } from '@osm-ts/kubernetes/testing'
import { ChildRequests } from './child-requests.js'

/** What the process of the API server is told. */
export type ApiCommand =
  | { readonly type: 'put' | 'remove'; readonly id: number; readonly objects: readonly KubernetesManifest[] }
  | {
      readonly type: 'stream'
      readonly id: number
      readonly objects: readonly KubernetesManifest[]
      readonly perSecond: number
    }
  /** Secrets that are created in this namespace are answered and forgotten. */
  | { readonly type: 'forget-secrets'; readonly id: number; readonly namespace: string }
  | { readonly type: 'close' }

/** What it says. `at` is the monotonic clock in nanoseconds, before the first object was stored. */
export type ApiReport =
  | { readonly type: 'listening'; readonly url: string }
  | { readonly type: 'done'; readonly id: number; readonly at: string }

/** An API server with a generated mesh, in its own process. */
export class MeshApi {
  readonly url: string
  readonly #child: ChildRequests

  private constructor(child: ChildRequests, url: string) {
    this.#child = child
    this.url = url
  }

  /** @param program - the bundle of api-main.ts */
  static async start(program: string): Promise<MeshApi> {
    const child = new ChildRequests(program)
    const { url } = await child.first<Extract<ApiReport, { type: 'listening' }>>()
    return new MeshApi(child, url)
  }

  /** A connection to it. */
  async api(): Promise<KubernetesApi> {
    return openKubernetes({ server: this.url, credentials: async () => ({ headers: {}, tls: {} }) }, 'osm-bench')
  }

  /** Makes or replaces objects. Gives the time of the monotonic clock in nanoseconds at which it began. */
  async put(objects: readonly KubernetesManifest[]): Promise<bigint> {
    return this.#do({ type: 'put', objects })
  }

  async remove(objects: readonly KubernetesManifest[]): Promise<bigint> {
    return this.#do({ type: 'remove', objects })
  }

  /** Has Secrets that are created in a namespace answered and not stored. */
  async forgetSecrets(namespace: string): Promise<void> {
    await this.#do({ type: 'forget-secrets', namespace })
  }

  /** As {@link put}, at a rate. Resolves when all are stored. */
  async stream(objects: readonly KubernetesManifest[], perSecond: number): Promise<bigint> {
    return this.#do({ type: 'stream', objects, perSecond })
  }

  async close(): Promise<void> {
    await this.#child.close()
  }

  async #do(command: object): Promise<bigint> {
    const { at } = await this.#child.ask<{ readonly at: string }>(command)
    return BigInt(at)
  }
}
