import { type KubernetesApi, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

/** Names the programs of the image of the test application, in which everything runs that measures from inside a pod. */
export const nodeProgram = '/nodejs/bin/node'

/** What is read of a pod. */
export interface SeenPod extends KubernetesObject {
  readonly spec: { readonly nodeName?: string }
  readonly status: { readonly phase: string; readonly podIP?: string }
}

const watchSeconds = 3600

/** Sees changes of the pods of a namespace the moment they happen. */
export class PodWatch {
  readonly #api: KubernetesApi
  readonly #namespace: string
  readonly #pods = new Map<string, SeenPod>()
  readonly #waiting = new Set<() => void>()
  readonly #end = new AbortController()
  #failure: unknown

  private constructor(api: KubernetesApi, namespace: string) {
    this.#api = api
    this.#namespace = namespace
  }

  static async start(api: KubernetesApi, namespace: string): Promise<PodWatch> {
    const watch = new PodWatch(api, namespace)
    const { resourceVersion } = await api.list(resourceTypes.Pod, { namespace }, watch.#end.signal)
    await new Promise<void>((resolve) => {
      watch.#run(resourceVersion, resolve).catch((error: unknown) => {
        if (!watch.#end.signal.aborted) watch.#failure = error
        watch.#wake()
        resolve()
      })
    })
    return watch
  }

  /** Waits until a pod is such a one; gives the time at which it was seen so, in milliseconds since 1970. */
  async until(name: string, what: string, accept: (pod: SeenPod) => boolean, timeoutMs: number): Promise<number> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      const pod = this.#pods.get(name)
      if (pod !== undefined && accept(pod)) return Date.now()
      if (this.#failure !== undefined) throw new Error('the watch of pods has ended', { cause: this.#failure })
      const left = deadline - Date.now()
      if (left <= 0)
        throw new Error(
          `${this.#namespace}/${name} was not ${what} within ${timeoutMs} ms: ${JSON.stringify(pod?.status)}`,
        )
      await this.#change(left)
    }
  }

  close(): void {
    this.#end.abort()
  }

  async #run(resourceVersion: string, onOpen: () => void): Promise<void> {
    const query = { namespace: this.#namespace, resourceVersion, timeoutSeconds: watchSeconds, onOpen }
    for await (const event of this.#api.watch(resourceTypes.Pod, query, this.#end.signal)) {
      if (event.type === 'BOOKMARK') continue
      if (event.type === 'DELETED') this.#pods.delete(event.object.metadata.name)
      else this.#pods.set(event.object.metadata.name, event.object as SeenPod)
      this.#wake()
    }
    throw new Error(`the API server ended a watch within ${watchSeconds} s`)
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
    })
  }
}
