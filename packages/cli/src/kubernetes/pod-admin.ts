import { type ObjectName, proxyUuidLabel, resourceTypes } from '@osm-ts/kubernetes'

import { cliError } from '../errors.js'
import type { HttpAnswer } from '../state/http-get.js'
import { podState } from './control-planes.js'
import { getFromPod, type Cluster } from './open-cluster.js'

/** Port of the administration interface of sidecars, on the loopback of their pod. */
const ADMIN_PORT = 15_000

/**
 * GETs a page of the administration interface of the sidecar of a pod.
 *
 * @throws OsmError `OSM_CLI_INSTANCE` if the pod does not exist, has no sidecar or does not run; KubernetesError
 */
export async function getAdminPage(
  cluster: Pick<Cluster, 'api' | 'connectToPod' | 'signal'>,
  name: ObjectName,
  page: string,
): Promise<HttpAnswer> {
  const shown = `${name.namespace}/${name.name}`
  const pod = await cluster.api.get(resourceTypes.Pod, name, cluster.signal)
  if (pod === undefined)
    throw cliError('OSM_CLI_INSTANCE', `there is no pod ${shown}`, 'set its namespace with --namespace')
  if (pod.metadata.labels?.[proxyUuidLabel] === undefined)
    throw cliError(
      'OSM_CLI_INSTANCE',
      `pod ${shown} has no sidecar`,
      'add its namespace to a mesh with osm namespace add, and recreate the pod',
    )
  const { phase } = podState(pod)
  if (phase !== 'Running')
    throw cliError('OSM_CLI_INSTANCE', `pod ${shown} is not running: its phase is ${phase}`, `see kubectl describe pod`)
  return getFromPod(cluster, name, ADMIN_PORT, `/${page}`)
}
