import { findObstacles, meshSelector } from '@osm-ts/bootstrap'
import { customResourceDefinitions } from '@osm-ts/kubernetes'

import { cliError } from '../errors.js'
import { runHelm, type HelmRun } from '../helm/helm.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { plainLine } from '../output/style.js'
import { PodProgress } from './pod-progress.js'

/** What to install, or to upgrade to. */
export interface MeshRelease {
  readonly cluster: Cluster
  readonly run: HelmRun
  readonly chart: string
  readonly meshName: string
  /** As helm takes them by `--set`. */
  readonly set: readonly string[]
  /** As helm takes it. */
  readonly timeout: string
}

/**
 * Installs a control plane, and returns when it is ready.
 *
 * @throws OsmError `OSM_CLI_OBSTACLE` before anything was changed; `OSM_CLI_HELM`; KubernetesError
 */
export async function installMesh(
  release: MeshRelease,
  { enforceSingleMesh, atomic }: { readonly enforceSingleMesh: boolean; readonly atomic: boolean },
): Promise<void> {
  const { cluster, run, meshName } = release
  const obstacles = await findObstacles({
    api: cluster.api,
    meshName,
    namespace: run.namespace,
    enforceSingleMesh,
    definitions: customResourceDefinitions(),
    signal: run.signal,
  })
  if (obstacles.length > 0)
    throw cliError(
      'OSM_CLI_OBSTACLE',
      obstacles.map(({ what }) => what).join('; '),
      obstacles.map(({ advice }) => advice).join('; '),
    )
  // Of helm 4; helm 3 knows the old name only.
  const rollBack = run.helm.major >= 4 ? '--rollback-on-failure' : '--atomic'
  await applyChart(release, ['install', meshName], {
    options: ['--create-namespace', ...(atomic ? [rollBack] : [])],
    // What a command says for itself wins over what --set says, as in OSM.
    set: [`osm.enforceSingleMesh=${String(enforceSingleMesh)}`],
  })
}

/**
 * Upgrades a control plane to the chart's own values and those that are given; it forgets others that it was installed with.
 *
 * @throws OsmError `OSM_CLI_HELM`; KubernetesError
 */
export async function upgradeMesh(release: MeshRelease, releaseName: string): Promise<void> {
  await applyChart(release, ['upgrade', releaseName], { options: ['--reset-values'], set: [] })
}

async function applyChart(
  { cluster, run, chart, meshName, set, timeout }: MeshRelease,
  [verb, name]: readonly [verb: 'install' | 'upgrade', name: string],
  own: { readonly options: readonly string[]; readonly set: readonly string[] },
): Promise<void> {
  const tell = (line: string): void => void run.context.stderr.write(`osm: ${plainLine(line)}\n`)
  const progress = new PodProgress(cluster, { namespace: run.namespace, labelSelector: meshSelector(meshName) }, tell)
  const done = new AbortController()
  const following = progress.follow(AbortSignal.any([done.signal, run.signal]))
  // Whatever it throws is thrown below, when helm has ended.
  following.catch(() => undefined)
  const end = async (): Promise<void> => {
    done.abort()
    await following
    await progress.look(run.signal)
  }
  tell(`${verb} of mesh ${meshName} in namespace ${run.namespace} by helm ${run.helm.version}, with ${chart}`)
  try {
    await runHelm(run, [
      verb,
      name,
      chart,
      '--wait',
      `--timeout=${timeout}`,
      ...own.options,
      ...[...set, ...own.set].map((value) => `--set=${value}`),
      // A text, whatever it looks like.
      `--set-string=osm.meshName=${meshName}`,
    ])
  } catch (error) {
    await end()
    for (const line of progress.report()) run.context.stderr.write(`${line}\n`)
    throw error
  }
  await end()
}
