import type { Clock, Metrics, ProcessLogger, Random } from '@osm-ts/core'
import {
  bootstrapSecretName,
  type ClusterView,
  instanceLabel,
  isKubernetesError,
  type KubernetesApi,
  type ObjectName,
  proxyUuidLabel,
  resourceTypes,
  WorkQueue,
} from '@osm-ts/kubernetes'
import { compareText } from '@osm-ts/driver-api/policy'

import type { ControllerErrorCode } from '../errors.js'
import { labelled, type Labelled, listLabelled } from './labelled-objects.js'

/** What {@link BootstrapSecrets} are kept with. */
export interface BootstrapSecretsOptions {
  readonly api: KubernetesApi
  readonly cluster: Pick<ClusterView, 'namespaces' | 'isEnrolled' | 'onClusterChange'>
  readonly meshName: string
  /** How long a Secret waits for its pod. Absent: five minutes. */
  readonly graceMs?: number
  /** How often namespaces are checked without a reason. Absent: one minute. */
  readonly sweepMs?: number
  readonly clock: Clock
  readonly random: Random
  /** Milliseconds that never run backwards; clocks of machines are not compared. */
  readonly monotonic: () => number
  readonly metrics: Metrics
  readonly logger: ProcessLogger
}

/** How long a Secret waits for its pod: admission and scheduling of a pod that was refused for a while included. */
const SECRET_GRACE_MS = 300_000
/** How often namespaces are checked without a reason. */
const SWEEP_MS = 60_000
/** A namespace that joins gets its RoleBinding, which takes a moment; and pods go in bunches. */
const SETTLE_MS = 500
/** Namespaces and pods that are checked together. */
const CONCURRENCY = 4

/**
 * Ties the Secret of every sidecar to its pod, so that the two go together, and removes Secrets whose pod never came or has gone. One instance at a time: the
 * leader.
 */
export class BootstrapSecrets {
  readonly #options: BootstrapSecretsOptions
  /** When a Secret without a pod was seen first, by its namespace and uid. */
  readonly #waiting = new Map<string, ReadonlyMap<string, number>>()
  /** Sidecars whose Secret is tied already. */
  readonly #tied = new Map<string, Set<string>>()
  readonly #count: (result: string) => void

  constructor(options: BootstrapSecretsOptions) {
    this.#options = options
    const counter = options.metrics.counter(
      'osm_bootstrap_secret_count',
      'Secrets of sidecars that were tied to their pod or removed',
      ['result'],
    )
    for (const result of ['tied', 'removed']) counter.inc({ result }, 0)
    this.#count = (result) => counter.inc({ result })
  }

  /** Keeps them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, clock, random, logger } = this.#options
    this.#waiting.clear()
    this.#tied.clear()
    const queue = new WorkQueue({
      handle: async (key, own) => {
        const [namespace = '', pod, uuid] = key.split('/')
        if (pod !== undefined) return this.#lookAt({ namespace, name: pod }, uuid, own)
        const next = await this.#sweep(namespace, own)
        if (cluster.isEnrolled(namespace)) queue.addAfter(namespace, next)
      },
      concurrency: CONCURRENCY,
      clock,
      random,
      onFault: (key, error, failures) => {
        const [namespace] = key.split('/')
        // Before the RoleBinding of a new namespace is there, nothing may be read.
        const isEarly = isKubernetesError(error) && error.status === 403 && failures < 5
        if (!isEarly && (failures === 1 || failures === 5))
          logger.warn(
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, namespace, reason: String(error) },
            'Secrets of sidecars cannot be looked after',
          )
      },
    })
    const end = cluster.onClusterChange((change) => {
      const { namespace } = change.scope
      if (change.of === 'namespace') queue.addAfter(namespace, SETTLE_MS)
      else if (change.change.of === 'pods')
        for (const { name, before, after } of change.change.changes) {
          if (!this.#concerns(namespace, { before, after })) continue
          const gone = after === undefined ? before?.instance?.spec.uuid : undefined
          // The Secret of a pod that has gone is found by its sidecar, which is not known of one that never ran.
          if (after === undefined && gone === undefined) queue.addAfter(namespace, SETTLE_MS)
          // Names of Kubernetes hold no slash.
          else queue.add([namespace, name.name, ...(gone === undefined ? [] : [gone])].join('/'))
        }
    })
    try {
      for (const { namespace } of cluster.namespaces()) queue.add(namespace)
      await queue.run(signal)
    } finally {
      end()
    }
  }

  /** True for a pod that is new here, has got its sidecar, or has gone. */
  #concerns(namespace: string, { before, after }: PodChange): boolean {
    if (after === undefined) return before?.instance !== undefined || before?.awaited === true
    if (after.instance === undefined) return after.awaited
    return this.#tied.get(namespace)?.has(after.instance.spec.uuid) !== true
  }

  /** Looks after a namespace once. Gives the time until it has to be looked at again. */
  async #sweep(namespace: string, signal: AbortSignal): Promise<number> {
    const { cluster, meshName, monotonic, sweepMs = SWEEP_MS, graceMs = SECRET_GRACE_MS } = this.#options
    if (!cluster.isEnrolled(namespace)) {
      this.#forget(namespace)
      return sweepMs
    }
    const ours = `${proxyUuidLabel},${instanceLabel}=${meshName}`
    const { api } = this.#options
    const secrets = await listLabelled(api, resourceTypes.Secret, namespace, ours, signal)
    if (secrets.length === 0) {
      this.#forget(namespace)
      return sweepMs
    }
    // After the Secrets: a Secret is there before its pod, so that no pod is overlooked whose Secret was seen.
    const pods = await listLabelled(api, resourceTypes.Pod, namespace, proxyUuidLabel, signal)
    const owners = ownersOf(pods, secrets)
    const known = this.#waiting.get(namespace)
    const now = monotonic()
    // Made again each time, so that nothing is kept of Secrets that others have deleted; and first, so that a request that fails costs no Secret its time.
    const waiting = new Map(
      secrets.filter(({ uuid }) => !owners.has(uuid)).map(({ uid }) => [uid, known?.get(uid) ?? now]),
    )
    this.#waiting.set(namespace, waiting)
    const tied = new Set<string>()
    let soonest = sweepMs
    for (const secret of secrets) {
      const owner = owners.get(secret.uuid)
      if (owner !== undefined) {
        if (!secret.ownedBy.includes(owner.uid)) await this.#tie(namespace, secret, owner, signal)
        tied.add(secret.uuid)
        continue
      }
      const since = waiting.get(secret.uid) ?? now
      // A Secret that is tied had its pod, which is gone for good: names of pods come again, uids don't.
      const left = secret.ownedBy.length > 0 ? 0 : since + graceMs - now
      if (left > 0) soonest = Math.min(soonest, left)
      else await this.#remove(namespace, secret, signal)
    }
    this.#tied.set(namespace, tied)
    return soonest
  }

  /**
   * Ties the Secret of one pod, or removes it if the pod has gone. What fails to be seen here the next sweep sees.
   *
   * @param gone - uuid of the sidecar of a pod that was there
   */
  async #lookAt(name: ObjectName, gone: string | undefined, signal: AbortSignal): Promise<void> {
    const { namespace } = name
    if (!this.#options.cluster.isEnrolled(namespace)) return
    const found = await this.#options.api.get(resourceTypes.Pod, name, signal, { answer: 'metadata' })
    const pod = found === undefined ? undefined : labelled(found)
    if (pod !== undefined && pod.uuid !== '') {
      const secret = await this.#secretOf(namespace, pod.uuid, signal)
      // One that is tied stays with its pod: another that carries the same label does not take it over. The sweep knows whether that pod is still there.
      if (secret !== undefined && secret.ownedBy.length === 0) await this.#tie(namespace, secret, pod, signal)
      this.#tied.set(namespace, (this.#tied.get(namespace) ?? new Set()).add(pod.uuid))
    }
    if (gone === undefined || gone === pod?.uuid) return
    const left = await this.#secretOf(namespace, gone, signal)
    // One that was never tied may be of a pod that is still to come.
    if (left !== undefined && left.ownedBy.length > 0) await this.#remove(namespace, left, signal)
  }

  /** The Secret of a sidecar of this mesh. */
  async #secretOf(namespace: string, uuid: string, signal: AbortSignal): Promise<Labelled | undefined> {
    const { api, meshName } = this.#options
    const name = { namespace, name: bootstrapSecretName(uuid) }
    const secret = await api.get(resourceTypes.Secret, name, signal, { answer: 'metadata' })
    const labels = secret?.metadata.labels
    const isOurs = labels?.[proxyUuidLabel] === uuid && labels[instanceLabel] === meshName
    return secret === undefined || !isOurs ? undefined : labelled(secret)
  }

  #forget(namespace: string): void {
    this.#waiting.delete(namespace)
    this.#tied.delete(namespace)
  }

  async #tie(
    namespace: string,
    { name, resourceVersion }: Labelled,
    owner: Labelled,
    signal: AbortSignal,
  ): Promise<void> {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: owner.name, uid: owner.uid }]
    try {
      await this.#options.api.mergePatch(
        resourceTypes.Secret,
        { namespace, name },
        { metadata: { resourceVersion, ownerReferences } },
        { signal, answer: 'metadata' },
      )
    } catch (error) {
      if (isKubernetesError(error) && error.notFound) return
      throw error
    }
    this.#count('tied')
  }

  async #remove(namespace: string, { name, uid }: Labelled, signal: AbortSignal): Promise<void> {
    const { api, logger } = this.#options
    const removed = await api.delete(resourceTypes.Secret, { namespace, name }, { signal, uid })
    if (!removed) return
    this.#count('removed')
    logger.info({ namespace, name }, 'removed the Secret of a sidecar whose pod does not exist')
  }
}

/** The pod of each Secret, by the uuid of its sidecar: the one that it is tied to, else the oldest that carries the uuid. */
function ownersOf(pods: readonly Labelled[], secrets: readonly Labelled[]): ReadonlyMap<string, Labelled> {
  const tiedTo = new Map(secrets.map(({ uuid, ownedBy }) => [uuid, ownedBy]))
  const owners = new Map<string, Labelled>()
  for (const pod of pods.toSorted((a, b) => compareText(a.createdAt, b.createdAt)))
    if (!owners.has(pod.uuid) || tiedTo.get(pod.uuid)?.includes(pod.uid) === true) owners.set(pod.uuid, pod)
  return owners
}

interface PodChange {
  readonly before: PodLike | undefined
  readonly after: PodLike | undefined
}

type PodLike =
  | { readonly instance: { readonly spec: { readonly uuid: string } }; readonly awaited?: undefined }
  | { readonly instance?: undefined; readonly awaited: boolean }
