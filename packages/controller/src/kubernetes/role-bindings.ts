import {
  apiVersionOf,
  type Clock,
  type ClusterView,
  createInformer,
  type Informer,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesManifest,
  meshObjectLabels,
  type Metrics,
  type ProcessLogger,
  type Random,
  resourceTypes,
  sameValue,
  WorkQueue,
} from '@osm-ts/core'

import type { ControllerErrorCode } from '../errors.js'
import { untilAborted } from '../supervision.js'

/** What {@link RoleBindings} are kept with. */
export interface RoleBindingsOptions {
  readonly api: KubernetesApi
  readonly cluster: Pick<ClusterView, 'namespaces' | 'isEnrolled' | 'onClusterChange'>
  readonly meshName: string
  readonly osmNamespace: string
  /** Service accounts of the control plane that need the Secrets of sidecars. */
  readonly accounts: readonly string[]
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

/** Name of the ClusterRole for Secrets of sidecars, and of the RoleBindings to it. */
function bootstrapSecretsRole(meshName: string): string {
  return `osm-${meshName}-bootstrap-secrets`
}

/**
 * Lets the control plane at Secrets in the namespaces of the mesh, and nowhere else: a RoleBinding comes with a namespace, goes with it, and is restored when
 * somebody changes it. One keeper at a time: the leader.
 */
export class RoleBindings {
  readonly #options: RoleBindingsOptions
  readonly #name: string

  constructor(options: RoleBindingsOptions) {
    this.#options = options
    this.#name = bootstrapSecretsRole(options.meshName)
  }

  /** Keeps them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, cluster, clock, random, metrics, logger } = this.#options
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
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, namespace, reason: String(error) },
            'the RoleBinding for Secrets of sidecars can not be written',
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
    ]
    try {
      await Promise.race([informer.start(signal), untilAborted(signal)])
      for (const { namespace } of [...cluster.namespaces(), ...informer.list()]) queue.add(namespace)
      await queue.run(signal)
    } finally {
      for (const end of ends) end()
    }
  }

  async #bring(namespace: string, informer: Informer<Binding>, signal: AbortSignal): Promise<void> {
    const { api, cluster, logger } = this.#options
    const type = resourceTypes.RoleBinding
    const object = { namespace, name: this.#name }
    const present = informer.get(object)
    const wanted = cluster.isEnrolled(namespace)
    if (present === undefined && !wanted) return
    if (present !== undefined && (!wanted || present.role !== this.#name)) {
      // What a RoleBinding refers to can't be changed.
      await api.delete(type, object, { signal, uid: present.uid })
      logger.info({ namespace }, 'the control plane gave up its access to Secrets of a namespace')
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
    logger.info({ namespace }, 'the control plane got access to Secrets of a namespace')
  }

  #isRight({ subjects, labels }: Binding): boolean {
    return (
      sameValue(subjects, this.#subjects()) &&
      Object.entries(this.#labels()).every(([name, value]) => labels[name] === value)
    )
  }

  #subjects(): readonly Required<Subject>[] {
    const { accounts, osmNamespace } = this.#options
    return accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace: osmNamespace }))
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
