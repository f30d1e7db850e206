import { type Clock, type Metrics, type ProcessLogger, type Random, sameValue } from '@osm-ts/core'
import {
  apiVersionOf,
  type ClusterView,
  createInformer,
  type Informer,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesManifest,
  meshObjectLabels,
  resourceTypes,
  WorkQueue,
} from '@osm-ts/kubernetes'
import { ownValue, untilAborted } from '@osm-ts/driver-api/toolkit'

import type { ControllerErrorCode } from '../errors.js'

/** A ClusterRole of the chart that the leader binds in namespaces of the mesh. */
export interface BoundRole {
  /** Of the ClusterRole, and of its RoleBindings. */
  readonly name: string
  /** Service accounts of the control plane that hold it. */
  readonly accounts: readonly string[]
  /** Namespaces that need it; those that are not of the mesh do not get it. Absent: all of the mesh. */
  readonly namespaces?: () => ReadonlySet<string>
}

/** What {@link RoleBindings} are kept with. */
export interface RoleBindingsOptions {
  readonly api: KubernetesApi
  readonly cluster: Pick<ClusterView, 'namespaces' | 'isEnrolled' | 'onClusterChange'>
  readonly meshName: string
  readonly osmNamespace: string
  readonly role: BoundRole
  /** Calls the listener when {@link BoundRole.namespaces} may differ. The result ends it. Absent: it never does. */
  readonly subscribe?: (listener: () => void) => () => void
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: ProcessLogger
}

interface Subject {
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
}

/** A RoleBinding as far as it matters here. */
interface Binding {
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly role: string
  readonly subjects: readonly Subject[]
  readonly labels: Readonly<Record<string, string>>
}

/**
 * Binds one role in the namespaces of the mesh that need it, and nowhere else: a RoleBinding is created when a namespace needs it, deleted when it no longer
 * does, and restored when somebody changes it. Only the leader runs it.
 */
export class RoleBindings {
  readonly #options: RoleBindingsOptions
  readonly #name: string

  constructor(options: RoleBindingsOptions) {
    this.#options = options
    this.#name = options.role.name
  }

  /** Keeps them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, cluster, subscribe, clock, random, metrics, logger } = this.#options
    const informer = createInformer<Binding>({
      type: resourceTypes.RoleBinding,
      // The account may see those of this name only, and is asked for the name.
      fieldSelector: `metadata.name=${this.#name}`,
      project: (object) => {
        const { roleRef, subjects } = object as { readonly roleRef?: Subject; readonly subjects?: readonly Subject[] }
        const { namespace = '', uid = '', resourceVersion = '', labels = {} } = object.metadata
        return {
          namespace,
          uid,
          resourceVersion,
          role: roleRef?.name ?? '',
          subjects: (subjects ?? []).map((it) => ({
            kind: it.kind ?? '',
            name: it.name ?? '',
            namespace: it.namespace ?? '',
          })),
          labels,
        }
      },
      api,
      clock,
      random,
      logger,
      metrics,
    })
    const queue = new WorkQueue({
      handle: (namespace, own) => this.#bring(namespace, informer, own),
      concurrency: 4,
      clock,
      random,
      onFault: (namespace, error, failures) => {
        if (failures === 1)
          logger.warn(
            {
              code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode,
              namespace,
              name: this.#name,
              reason: String(error),
            },
            'cannot write a RoleBinding for Secrets',
          )
      },
    })
    const ends = [
      informer.subscribe((changes) => {
        for (const { name } of changes) queue.add(name.namespace)
      }),
      cluster.onClusterChange((change) => {
        if (change.of === 'namespace') queue.add(change.scope.namespace)
      }),
      subscribe?.(() => {
        const needed = this.#needed()
        for (const { namespace } of cluster.namespaces())
          if (needed.has(namespace) !== (informer.get({ namespace, name: this.#name }) !== undefined))
            queue.add(namespace)
      }),
    ]
    try {
      await Promise.race([informer.start(signal), untilAborted(signal)])
      for (const { namespace } of [...cluster.namespaces(), ...informer.list()]) queue.add(namespace)
      await queue.run(signal)
    } finally {
      for (const end of ends) end?.()
    }
  }

  async #bring(namespace: string, informer: Informer<Binding>, signal: AbortSignal): Promise<void> {
    const { api, cluster, logger } = this.#options
    const type = resourceTypes.RoleBinding
    const object = { namespace, name: this.#name }
    const present = informer.get(object)
    const wanted = cluster.isEnrolled(namespace) && this.#needed().has(namespace)
    if (present === undefined && !wanted) return
    if (present !== undefined && (!wanted || present.role !== this.#name)) {
      // What a RoleBinding refers to can't be changed.
      await api.delete(type, object, { signal, uid: present.uid })
      logger.info({ namespace, name: this.#name }, 'removed a RoleBinding for Secrets of a namespace')
      if (!wanted) return
    }
    const manifest = this.#manifest(namespace)
    if (present?.role === this.#name) {
      if (this.#isRight(present)) return
      await api.replace(
        type,
        { ...manifest, metadata: { ...manifest.metadata, resourceVersion: present.resourceVersion } },
        { signal },
      )
    } else {
      try {
        await api.create(type, manifest, { signal })
      } catch (error) {
        // The informer will tell of it.
        if (isKubernetesError(error) && error.conflict) return
        throw error
      }
    }
    logger.info({ namespace, name: this.#name }, 'wrote a RoleBinding for Secrets of a namespace')
  }

  #needed(): ReadonlySet<string> {
    const { cluster, role } = this.#options
    return role.namespaces?.() ?? new Set(cluster.namespaces().map(({ namespace }) => namespace))
  }

  #isRight({ subjects, labels }: Binding): boolean {
    return (
      sameValue(subjects, this.#subjects()) &&
      Object.entries(this.#labels()).every(([name, value]) => ownValue(labels, name) === value)
    )
  }

  #subjects(): readonly Required<Subject>[] {
    const { role, osmNamespace } = this.#options
    return role.accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace: osmNamespace }))
  }

  #labels(): Readonly<Record<string, string>> {
    return meshObjectLabels(this.#options.meshName)
  }

  #manifest(namespace: string): KubernetesManifest {
    const type = resourceTypes.RoleBinding
    return {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { namespace, name: this.#name, labels: this.#labels() },
      roleRef: { apiGroup: type.group, kind: 'ClusterRole', name: this.#name },
      subjects: this.#subjects(),
    }
  }
}
