import {
  eachObject,
  type KubernetesApi,
  type KubernetesObject,
  proxyUuidLabel,
  type ResourceType,
} from '@osm-ts/kubernetes'

/** What is kept of a Secret or pod; nothing of its contents. */
export interface Labelled {
  readonly name: string
  readonly uid: string
  readonly uuid: string
  readonly resourceVersion: string
  /** RFC 3339. */
  readonly createdAt: string
  readonly ownedBy: readonly string[]
}

const PAGE = 500

/** Objects of a namespace with these labels, by their metadata alone. */
export async function listLabelled(
  api: Pick<KubernetesApi, 'list'>,
  type: ResourceType,
  namespace: string,
  labelSelector: string,
  signal: AbortSignal,
): Promise<readonly Labelled[]> {
  const found: Labelled[] = []
  const query = { namespace, labelSelector, limit: PAGE, answer: 'metadata' } as const
  for await (const object of eachObject(api, type, query, signal)) found.push(labelled(object))
  return found
}

/** What counts of an object. */
export function labelled({ metadata }: KubernetesObject): Labelled {
  const { name, uid = '', resourceVersion = '', creationTimestamp = '', labels, ownerReferences = [] } = metadata
  return {
    name,
    uid,
    uuid: labels?.[proxyUuidLabel] ?? '',
    resourceVersion,
    createdAt: creationTimestamp,
    ownedBy: ownerReferences.filter(({ kind }) => kind === 'Pod').map((owner) => owner.uid),
  }
}
