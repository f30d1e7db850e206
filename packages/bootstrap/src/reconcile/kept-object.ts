import { createHash } from 'node:crypto'

import { canonicalJson } from '@osm-ts/driver-api/policy'
import type { KubernetesObject, ResourceType } from '@osm-ts/kubernetes'

/** A cluster-scoped object that the bootstrap brings in and keeps. */
export interface KeptObject {
  readonly type: ResourceType
  readonly name: string
  /** What of the object is kept, as a text that differs exactly if that does. */
  readonly fingerprint: (object: KubernetesObject) => string
  /** Brings it in order and gives it as it stands; undefined if it does not exist and shall not. */
  readonly write: (signal: AbortSignal) => Promise<KubernetesObject | undefined>
  /** What has to follow where it had to be made again. */
  readonly afterWrite?: (signal: AbortSignal) => Promise<void>
}

/** Key of a kept object. */
export function keyOf({ type, name }: Pick<KeptObject, 'type' | 'name'>): string {
  return `${type.kind}/${name}`
}

/** A text that is the same for two JSON values exactly if they are equal; the order of members does not matter. */
export function fingerprint(value: unknown): string {
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(value))))
    .digest('base64url')
}
