import type { KubernetesManifest, KubernetesMetadata, KubernetesObject, ObjectName } from './api.js'

/** What a Lease says about who leads. */
export interface LeaseRecord {
  /** Empty: no one. */
  readonly holder: string
  readonly durationMs: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly transitions: number
}

/** `spec` of a Lease. */
interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

/** What others may have written on a Lease, and is left as it is. */
export type LeaseMetadata = Pick<KubernetesMetadata, 'labels' | 'annotations' | 'ownerReferences' | 'finalizers'>

export function leaseMetadata({ metadata }: KubernetesObject): LeaseMetadata {
  const { labels, annotations, ownerReferences, finalizers } = metadata
  return {
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
  }
}

/** Reads a Lease; a missing duration is taken to be the given one. */
export function readLease(object: KubernetesObject, durationMs: number): LeaseRecord {
  const spec = (object.spec ?? {}) as LeaseSpec // the API server checks Leases by its own schema
  return {
    holder: spec.holderIdentity ?? '',
    durationMs: (spec.leaseDurationSeconds ?? durationMs / 1_000) * 1_000,
    acquireTime: spec.acquireTime ?? '',
    renewTime: spec.renewTime ?? '',
    transitions: spec.leaseTransitions ?? 0,
  }
}

/** A Lease that says the record; with a resource version only if no one has written since. */
export function writeLease(
  name: ObjectName,
  record: LeaseRecord,
  metadata: LeaseMetadata & { readonly resourceVersion?: string },
): KubernetesManifest {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...metadata, ...name },
    spec: {
      holderIdentity: record.holder,
      leaseDurationSeconds: Math.ceil(record.durationMs / 1_000),
      acquireTime: record.acquireTime,
      renewTime: record.renewTime,
      leaseTransitions: record.transitions,
    },
  }
}

/** A moment as Leases hold it: with microseconds. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}
