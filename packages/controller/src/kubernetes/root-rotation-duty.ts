import { type Clock, makeObjectKey, type ProcessLogger } from '@osm-ts/core'
import {
  apiVersionOf,
  eachObject,
  type KubernetesApi,
  type KubernetesObject,
  type KubernetesSource,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { readRootRecord } from '../certificates/root-record.js'
import type { ControllerParts } from '../options.js'
import type { ReplicaReports } from '../replicas/replica-report.js'
import { replicaTrust } from '../replicas/replica-trust.js'
import { RootRotation } from './root-rotation.js'

/** What {@link rootRotation} is made from. */
export interface RootRotationDutyOptions {
  readonly api: KubernetesApi
  readonly source: KubernetesSource
  /** Of this replica: the name of its pod, `_`, and a random part. */
  readonly identity: string
  readonly parts: ControllerParts
  readonly reports: ReplicaReports
  readonly clock: Clock
  readonly logger: ProcessLogger
}

const type = resourceTypes.MeshRootCertificate
/** Owner of the state; conditions that others own are left alone. */
const FIELD_MANAGER = 'osm-controller-rotation'
const CONTROLLERS = 'app=osm-controller'

/** The rotation of roots in a cluster; undefined for a certificate provider that never changes. */
export function rootRotation(options: RootRotationDutyOptions): RootRotation | undefined {
  const { api, source, identity, parts, reports, clock, logger } = options
  const { rotation, certificates, feed, osmNamespace, domains } = parts
  if (rotation === undefined) return undefined
  return new RootRotation({
    pod: podOf(identity),
    trustDomain: domains.trustDomain,
    rotation,
    objects: () => feed.current()?.byNamespace('MeshRootCertificate', osmNamespace) ?? [],
    served: (name) => {
      const facts = source.served(makeObjectKey('MeshRootCertificate', osmNamespace, name))?.facts
      return facts && { record: readRootRecord(facts.generation, facts.status), status: facts.status }
    },
    own: () => replicaTrust(rotation, certificates),
    others: () => new Map([...reports.trusts()].map(([replica, trust]) => [podOf(replica), trust])),
    pods: async (signal) => {
      const names: string[] = []
      const query = { namespace: osmNamespace, labelSelector: CONTROLLERS }
      for await (const pod of eachObject(api, resourceTypes.Pod, query, signal))
        if (serves(pod)) names.push(pod.metadata.name)
      return names
    },
    write: async (name, status, signal) => {
      const metadata = { name, namespace: osmNamespace }
      const manifest = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, status }
      await api.apply(type, manifest, { subresource: 'status', fieldManager: FIELD_MANAGER, force: true, signal })
    },
    clock,
    logger,
  })
}

/** Names of pods have no underscore. */
function podOf(identity: string): string {
  return identity.replace(/_[^_]*$/, '')
}

/** True for a pod that may have sidecars. One that is not ready gets none, and starts with what was decided. */
function serves({ metadata, status }: KubernetesObject): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] // of a Pod
  }
  return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True')
}
