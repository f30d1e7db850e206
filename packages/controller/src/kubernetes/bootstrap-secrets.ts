import {
  type Clock,
  type ClusterView,
  instanceLabel,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type Metrics,
  type ProcessLogger,
  proxyUuidLabel,
  type Random,
  type ResourceType,
  resourceTypes,
  WorkQueue,
} from '@osm-ts/core'

import type { ControllerErrorCode } from '../errors.js'

/** What {@link BootstrapSecrets} are kept with. */
export interface BootstrapSecretsOptions {
  readonly api: KubernetesApi
  readonly cluster: Pick<ClusterView, 'namespaces' | 'isEnrolled' | 'onClusterChange'>
  readonly meshName: string
  /** How long a Secret waits for its pod. Absent: five minutes. */
  readonly graceMs?: number
  /** How often namespaces are looked at without a reason. Absent: one minute. */
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
/** How often namespaces are looked at without a reason. */
const SWEEP_MS = 60_000
/** Pods come in bunches; a namespace is looked at once for all of them. */
const SETTLE_MS = 500
const PAGE = 500

interface Owner {
  readonly name: string
  readonly uid: string
}

/**
 * Ties the Secret of every sidecar to its pod, so that the two go together, and removes Secrets whose pod never came or has gone. One keeper at a time: the
 * leader.
 */
export class BootstrapSecrets {
  readonly #options: BootstrapSecretsOptions
  /** When a Secret without a pod was seen first, by its namespace and uid. */
  readonly #waiting = new Map<string, ReadonlyMap<string, number>>()
  /** Sidecars whose Secret is tied already. */
  readonly #tied = new Map<string, ReadonlySet<string>>()
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
      handle: async (namespace, own) => {
        const next = await this.#sweep(namespace, own)
        if (cluster.isEnrolled(namespace)) queue.addAfter(namespace, next)
      },
      concurrency: 2,
      clock,
      random,
      onFault: (namespace, error, failures) => {
        // Before the RoleBinding of a new namespace is there, nothing may be read.
        const isEarly = isKubernetesError(error) && error.status === 403 && failures < 5
        if (!isEarly && (failures === 1 || failures === 5))
          logger.warn(
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, namespace, reason: String(error) },
            'Secrets of sidecars can not be looked after',
          )
      },
    })
    const end = cluster.onClusterChange((change) => {
      const { namespace } = change.scope
      if (change.of === 'namespace') queue.addAfter(namespace, SETTLE_MS)
      else if (change.change.of === 'pods' && change.change.changes.some((it) => this.#concerns(namespace, it)))
        queue.addAfter(namespace, SETTLE_MS)
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
    const secrets = await this.#list(resourceTypes.Secret, namespace, ours, signal)
    if (secrets.length === 0) {
      this.#forget(namespace)
      return sweepMs
    }
    // After the Secrets: a Secret is there before its pod, so that no pod is overlooked whose Secret was seen.
    const pods = await this.#list(resourceTypes.Pod, namespace, proxyUuidLabel, signal)
    const owners = new Map(pods.map(({ uuid, name, uid }) => [uuid, { name, uid }]))
    const known = this.#waiting.get(namespace)
    const now = monotonic()
    // Made anew each time, so that nothing is kept of Secrets that others have deleted; and first, so that a request that fails costs no Secret its time.
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

  #forget(namespace: string): void {
    this.#waiting.delete(namespace)
    this.#tied.delete(namespace)
  }

  async #tie(namespace: string, { name, resourceVersion }: Labelled, owner: Owner, signal: AbortSignal): Promise<void> {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: owner.name, uid: owner.uid }]
    try {
      await this.#options.api.mergePatch(
        resourceTypes.Secret,
        { namespace, name },
        { metadata: { resourceVersion, ownerReferences } },
        { signal },
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

  async #list(type: ResourceType, namespace: string, labelSelector: string, signal: AbortSignal): Promise<Labelled[]> {
    const found: Labelled[] = []
    let next: string | undefined
    do {
      const page = await this.#options.api.list(
        type,
        { namespace, labelSelector, limit: PAGE, ...(next === undefined ? {} : { continue: next }) },
        signal,
      )
      found.push(...page.items.map(labelled))
      next = page.continue
    } while (next !== undefined && next !== '')
    return found
  }
}

/** What is kept of a Secret or pod; nothing of its contents. */
interface Labelled {
  readonly name: string
  readonly uid: string
  readonly uuid: string
  readonly resourceVersion: string
  readonly ownedBy: readonly string[]
}

interface PodChange {
  readonly before?: PodLike
  readonly after?: PodLike
}

type PodLike =
  | { readonly instance: { readonly spec: { readonly uuid: string } }; readonly awaited?: undefined }
  | { readonly instance?: undefined; readonly awaited: boolean }

function labelled({ metadata }: KubernetesObject): Labelled {
  const { name, uid = '', resourceVersion = '', labels, ownerReferences = [] } = metadata
  return {
    name,
    uid,
    uuid: labels?.[proxyUuidLabel] ?? '',
    resourceVersion,
    ownedBy: ownerReferences.filter(({ kind }) => kind === 'Pod').map((owner) => owner.uid),
  }
}
