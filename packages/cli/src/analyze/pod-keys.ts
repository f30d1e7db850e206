import { listAll, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

import type { Cluster } from '../kubernetes/open-cluster.js'
import type { KeyedObject } from './mesh-keys.js'

/** The pods of these namespaces, as far as their labels and annotations are checked: one for each owner, since pods of one owner are alike. */
export async function readKeyedPods(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespaces: readonly string[],
): Promise<readonly KeyedObject[]> {
  const found = new Map<string, KeyedObject>()
  for (const namespace of namespaces)
    for (const pod of await listAll(api, resourceTypes.Pod, { namespace, answer: 'metadata' }, signal)) {
      const key = `${namespace}/${ownerOf(pod)}`
      if (!found.has(key)) found.set(key, keyedObject('Pod', pod))
    }
  return [...found.values()]
}

/** What is checked of an object of the API server. */
export function keyedObject(kind: string, { metadata }: KubernetesObject): KeyedObject {
  const { namespace = '', name, labels = {}, annotations = {} } = metadata
  return { kind, namespace, name, labels, annotations }
}

/** A pod without one stands for itself. */
function ownerOf({ metadata }: KubernetesObject): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  return owner === undefined ? `Pod/${metadata.name}` : `${owner.kind}/${owner.name}`
}
