import { type Enrolment, namedOutsideServices, SnapshotFeed, systemClock } from '@osm-ts/core'
import {
  isKubernetesError,
  KubernetesEndpointsProvider,
  KubernetesSource,
  listAll,
  monitoredByLabel,
  NamedEndpointsProvider,
  resourceTypes,
} from '@osm-ts/kubernetes'
import type { Logger } from '@osm-ts/driver-api'

import { keyedObject } from '../analyze/pod-keys.js'
import { cliError } from '../errors.js'
import { loadMeshModel, type MeshModel } from '../spec/load-mesh-model.js'
import { type ProposedChange, sourcesWith } from '../spec/proposed-change.js'
import { type ControlPlane, findControlPlanes } from './control-planes.js'
import type { Cluster } from './open-cluster.js'

/** Time to read all of a mesh. */
const READ_TIMEOUT_MS = 60_000

/**
 * Reads once what a mesh is made of, as its controller reads it, and understands it with the same code. The controller itself is not asked.
 *
 * @param change - what a user is about to change in it
 * @param readMeshNames - the meshes of the cluster, where it has others; undefined: they are not known
 * @throws OsmError `OSM_CLI_UNREACHABLE` if it can't be read to the end; KubernetesError
 */
export async function loadCluster(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  plane: ControlPlane,
  change?: ProposedChange,
  readMeshNames: () => Promise<readonly string[] | undefined> = () => meshNamesOf({ api, signal }),
): Promise<MeshModel> {
  const { meshName, namespace: osmNamespace, flags } = plane
  // The following steps retry forever, so missing permission to read namespaces is reported first.
  const namespaces = await listAll(api, resourceTypes.Namespace, {}, signal)
  const hasOthers = namespaces.some(
    ({ metadata: { labels = {} } }) => (labels[monitoredByLabel] ?? meshName) !== meshName,
  )
  let lastFault = ''
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields, message) => (lastFault = faultText(fields, message)),
    error: (fields, message) => (lastFault = faultText(fields, message)),
  }
  const common = { api, clock: systemClock, random: Math.random, logger }
  const source = new KubernetesSource({
    ...common,
    meshName,
    osmNamespace,
    ...(flags['osm-config-name'] !== undefined && { configName: flags['osm-config-name'] }),
  })
  const reading = new AbortController()
  const outside = new NamedEndpointsProvider({ ...common, signal: reading.signal })
  const timeout = AbortSignal.timeout(READ_TIMEOUT_MS)
  const feed = new SnapshotFeed(sourcesWith(source, change))
  try {
    await feed.start(AbortSignal.any([signal, timeout, reading.signal]))
    const enrolment: Enrolment = { mode: 'labelled', meshName }
    const snapshot = feed.current()
    // Whether the features are on is known later: what is read in vain does no harm here.
    const featureFlags = { enableIngressBackendPolicy: true, enableAccessControlPolicy: true }
    if (snapshot !== undefined) outside.follow(namedOutsideServices(snapshot, { featureFlags }, enrolment))
    await outside.settled(signal)
    return loadMeshModel(feed, {
      naming: {
        meshName,
        osmNamespace,
        trustDomain: flags['trust-domain'] || 'cluster.local',
        clusterDomain: flags['cluster-domain'] || 'cluster.local',
      },
      enrolment,
      endpointsProviders: [new KubernetesEndpointsProvider({ cluster: source, ...feed.reader() }), outside],
      anyNamespace: false,
      namespaces: {
        meshName,
        meshNames: hasOthers ? await readMeshNames() : [meshName],
        all: namespaces.map((each) => keyedObject('Namespace', each)),
      },
    })
  } catch (error) {
    if (!timeout.aborted || signal.aborted) throw error
    throw cliError(
      'OSM_CLI_UNREACHABLE',
      `mesh ${meshName} could not be read within ${READ_TIMEOUT_MS / 1000} s${lastFault && `; last: ${lastFault}`}`,
      'a role has to allow list and watch of the objects that the controller reads, in all namespaces of the mesh',
      error,
    )
  } finally {
    reading.abort()
    await Promise.all([source.finished(), outside.finished()])
  }
}

/** Names of the meshes of a cluster; undefined for users who may not look into all namespaces. */
async function meshNamesOf(cluster: Pick<Cluster, 'api' | 'signal'>): Promise<readonly string[] | undefined> {
  try {
    return (await findControlPlanes(cluster)).map(({ meshName }) => meshName)
  } catch (error) {
    if (isKubernetesError(error, 'OSM_KUBERNETES_FORBIDDEN')) return undefined
    throw error
  }
}

function faultText({ reason }: Readonly<Record<string, unknown>>, message: string): string {
  return typeof reason === 'string' ? `${message}: ${reason}` : message
}
