import type { KubernetesManifest } from '@osm-ts/kubernetes'

import { CLUSTER, ENDPOINTS, SECRET } from '../references.js'
import { endpointSlice, meshedPod } from '../kubernetes-cluster.js'
import {
  callersOf,
  clusterName,
  firstServices,
  hubOf,
  hubSlice,
  newService,
  podOf,
  podsOf,
  serviceOf,
  trafficTarget,
} from '../scale/mesh.js'
import type { Proxies } from '../scale/proxies.js'
import { newRoot } from '../scale/roots.js'
import type { ScaleEnvironment } from '../scale/scale-environment.js'

const TIMEOUT_MS = 180_000
/** A controller that is busy ends connections that take too long to be made, and proxies try again. */
export const RETRIES = 10
/** Pods that come and go in each cycle, and objects that are written and change nothing. */
const PODS = 5
const NO_OPS = 10
/** Every so many cycles another root signs. Four of them are trusted at a time, so that many rotations fill what there is to fill. */
const CYCLES_PER_ROOT = 2

/** What comes and goes around a controller, in cycles after each of which everything is as it was before, but for its names. */
export class Churn {
  readonly #environment: ScaleEnvironment
  readonly #staying: number
  readonly #comingAndGoing: Proxies
  readonly #done = { objectsWritten: 0, reconnects: 0, rootRotations: 0 }
  #cycle = 0

  /**
   * @param staying - the first so many proxies are connected throughout, and reach the hub of that number
   * @param comingAndGoing - where the others connect from
   */
  constructor(environment: ScaleEnvironment, staying: number, comingAndGoing: Proxies) {
    this.#environment = environment
    this.#staying = staying
    this.#comingAndGoing = comingAndGoing
  }

  get done(): Readonly<{ objectsWritten: number; reconnects: number; rootRotations: number }> {
    return { ...this.#done }
  }

  /**
   * Has services come and go, and nothing else. Each has the proxies that stay told something that is framed once and kept, for as many bytes as a controller keeps:
   * before that is full, each cycle seems to leave something.
   */
  async fill(services: number): Promise<void> {
    for (let left = services; left > 0; left -= 1) {
      const { objects, cluster } = this.#freshService()
      await Promise.all([this.#told(CLUSTER, cluster), this.#change(true, objects)])
      await this.#environment.api.remove(objects)
      this.#done.objectsWritten += objects.length
      await this.#change(false, [])
      this.#cycle += 1
    }
  }

  /** Comes back when anyone who was concerned has acknowledged everything. */
  async cycle(): Promise<void> {
    const { size } = this.#environment
    const place = serviceOf(0)
    const fresh = this.#freshService()
    const pods = this.#freshPods()
    const replicas = podsOf(size, 0)
    await Promise.all([
      this.#reconnect(),
      this.#change(true, [
        trafficTarget(place, callersOf(size, 0), ['read']),
        endpointSlice(place, [...replicas.slice(1), ...pods]),
        ...pods.map((pod) => meshedPod(pod)),
        ...this.#noOps(),
        ...fresh.objects,
      ]),
      this.#told(CLUSTER, fresh.cluster),
    ])
    const gone = [...fresh.objects, ...pods.map((pod) => meshedPod(pod))]
    await this.#environment.api.remove(gone)
    this.#done.objectsWritten += gone.length
    await this.#change(false, [trafficTarget(place, callersOf(size, 0)), endpointSlice(place, replicas)])
    if (this.#cycle % CYCLES_PER_ROOT === 0) await this.#rotate()
    this.#cycle += 1
  }

  /** Writes objects, and an endpoint of the hub with them, which all hear of who stay. */
  async #change(both: boolean, objects: readonly KubernetesManifest[]): Promise<void> {
    const { size, api, proxies } = this.#environment
    const resource = { typeUrl: ENDPOINTS, name: clusterName(hubOf(this.#staying)), count: this.#staying }
    const all = [...objects, hubSlice(size, this.#staying, both)]
    await proxies.reached(resource, () => api.put(all), TIMEOUT_MS)
    this.#done.objectsWritten += all.length
  }

  /** Resolves when all who stay have acknowledged something that is changed after this was called. */
  async #told(typeUrl: string, name: string, act = async (): Promise<bigint> => 0n): Promise<void> {
    await this.#environment.proxies.reached({ typeUrl, name, count: this.#staying }, act, TIMEOUT_MS)
  }

  async #rotate(): Promise<void> {
    const secret = await newRoot()
    await this.#told(SECRET, 'root-cert-for-mtls', () => this.#environment.api.put([secret]))
    this.#done.rootRotations += 1
  }

  /** The others end their connections as if they were killed, and return. */
  async #reconnect(): Promise<void> {
    const { server, certificates } = this.#environment
    const others = certificates.proxies.slice(this.#staying)
    await this.#comingAndGoing.disconnect()
    await this.#comingAndGoing.connect(server, others, TIMEOUT_MS, { retries: RETRIES })
    this.#done.reconnects += others.length
  }

  /** A service that was never there, and who may call it. */
  #freshService(): { readonly objects: readonly KubernetesManifest[]; readonly cluster: string } {
    const place = { namespace: 'ns-1', name: `fresh-${this.#cycle}` }
    const callers = firstServices(this.#environment.size, this.#staying)
    return { objects: newService(place, 600_000 + this.#cycle, callers), cluster: clusterName(place) }
  }

  #freshPods() {
    return Array.from({ length: PODS }, (_, n) => ({ ...serviceOf(0), index: 700_000 + this.#cycle * PODS + n }))
  }

  #noOps(): readonly KubernetesManifest[] {
    const annotations = { 'example.com/checked': String(this.#cycle) }
    return Array.from({ length: NO_OPS }, (_, index) => meshedPod(podOf(this.#environment.size, index), annotations))
  }
}
