import {
  isKubernetesError,
  type KubernetesObject,
  listAll,
  monitoredByLabel,
  proxyUuidLabel,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { injectionAnnotations } from '@osm-ts/injector'

import type { Cluster } from '../kubernetes/open-cluster.js'
import { existing, patch, refused } from './mesh-namespaces.js'

/** Where sidecars of every class answer Prometheus. */
const scraped = {
  [injectionAnnotations.scrape]: 'true',
  [injectionAnnotations.scrapePort]: '15010',
  [injectionAnnotations.scrapePath]: '/stats/prometheus',
}
const unscraped = {
  [injectionAnnotations.scrape]: null,
  [injectionAnnotations.scrapePort]: null,
  [injectionAnnotations.scrapePath]: null,
}

/**
 * Has Prometheus scrape the sidecars of a namespace: those of new pods by the injector, those that run by annotations.
 *
 * @throws OsmError `OSM_CLI_NAMESPACE` if the namespace is of no mesh; KubernetesError
 */
export async function enableMetrics(cluster: Pick<Cluster, 'api' | 'signal'>, name: string): Promise<void> {
  await requireMeshed(cluster, name)
  await patch(cluster, name, { annotations: { [injectionAnnotations.metrics]: 'enabled' } })
  for (const pod of await meshedPods(cluster, name)) await annotate(cluster, pod, scraped)
}

/** Ends it. Pods that tell Prometheus of another port do so for themselves, and keep that. */
export async function disableMetrics(cluster: Pick<Cluster, 'api' | 'signal'>, name: string): Promise<void> {
  await requireMeshed(cluster, name)
  await patch(cluster, name, { annotations: { [injectionAnnotations.metrics]: null } })
  for (const pod of await meshedPods(cluster, name)) {
    const port = pod.metadata.annotations?.[injectionAnnotations.scrapePort]
    if (port === scraped[injectionAnnotations.scrapePort]) await annotate(cluster, pod, unscraped)
  }
}

async function requireMeshed(cluster: Pick<Cluster, 'api' | 'signal'>, name: string): Promise<void> {
  const { metadata } = await existing(cluster, name)
  if (metadata.labels?.[monitoredByLabel] === undefined)
    throw refused(`Namespace [${name}] does not belong to any mesh`, `add it with osm namespace add ${name}`)
}

function meshedPods(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespace: string,
): Promise<readonly KubernetesObject[]> {
  return listAll(api, resourceTypes.Pod, { namespace, labelSelector: proxyUuidLabel, answer: 'metadata' }, signal)
}

async function annotate(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  { metadata: { namespace = '', name } }: KubernetesObject,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  try {
    await api.mergePatch(
      resourceTypes.Pod,
      { namespace, name },
      { metadata: { annotations } },
      { signal, answer: 'metadata' },
    )
  } catch (error) {
    // The pod has gone since it was listed.
    if (!isKubernetesError(error, 'OSM_KUBERNETES_NOT_FOUND')) throw error
  }
}
