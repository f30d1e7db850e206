import { resourceTypes } from '@osm-ts/kubernetes'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { toText } from '../commands/cli-command.js'
import { runHelm, type Helm } from '../helm/helm.js'
import type { ClusterFlags } from '../kubernetes/cluster-options.js'
import { findControlPlanes, type ControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { openQuestions } from '../output/confirm.js'
import { plainLine } from '../output/style.js'
import { deleteLeftovers, type GoneMesh } from './delete-leftovers.js'
import { listMeshes, renderMeshes } from './list-meshes.js'

/** What to uninstall, and how far. */
export interface UninstallOptions {
  readonly cluster: Cluster
  readonly helm: Helm
  readonly flags: ClusterFlags
  readonly context: CliContext
  /** Absent: every mesh that is agreed to. */
  readonly meshName: string | undefined
  /** Skips the confirmation. */
  readonly force: boolean
  readonly deleteNamespace: boolean
  /** CRDs, webhook configurations and certificate authorities as well. */
  readonly deleteClusterWideResources: boolean
  readonly caBundleSecretName: string
  readonly timeout: string
  readonly color: boolean
}

/**
 * Uninstalls control planes.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING`, `OSM_CLI_UNCONFIRMED`, `OSM_CLI_HELM`, `OSM_CLI_LEFTOVER`; KubernetesError
 */
export async function uninstallMesh(options: UninstallOptions): Promise<void> {
  const { cluster, deleteNamespace, deleteClusterWideResources } = options
  const tell = teller(options)
  const meshes = await findControlPlanes(cluster)
  if (meshes.length === 0) tell('No OSM control planes found')
  const chosen = meshes.length === 0 ? [] : await chooseMeshes(meshes, options)
  for (const mesh of chosen) await uninstallOne(mesh, options)
  if (!deleteNamespace && !deleteClusterWideResources) return
  const gone = meshes.length === 0 ? await agreedLeftovers(options) : chosen
  // Of those that were there it went with each of them.
  if (deleteNamespace && meshes.length === 0)
    for (const { namespace } of gone) await deleteNamespaceOf(namespace, options)
  if (gone.length === 0 || !deleteClusterWideResources) return
  const { caBundleSecretName } = options
  const failed = await deleteLeftovers(gone, { cluster, caBundleSecretName, tell })
  if (failed.length > 0)
    throw cliError(
      'OSM_CLI_LEFTOVER',
      `not everything was deleted of these kinds: ${failed.join(', ')}`,
      'the lines above say why; fix the cause and run the command again',
    )
}

/** Those that are named or agreed to. */
async function chooseMeshes(
  meshes: readonly ControlPlane[],
  options: UninstallOptions,
): Promise<readonly ControlPlane[]> {
  const { cluster, context, meshName, force, color } = options
  const named = meshes.filter((mesh) => meshName === undefined || mesh.meshName === meshName)
  const described = meshes.map((mesh) => `[${mesh.meshName}] in [${mesh.namespace}]`).join(', ')
  if (named.length === 0)
    throw cliError('OSM_CLI_MESH_MISSING', `there is no mesh [${meshName ?? ''}]`, `the cluster has ${described}`)
  if (force) {
    if (named.length === 1) return named
    const here = named.filter(({ namespace }) => namespace === cluster.osmNamespace)
    if (meshName !== undefined && here.length === 1) return here
    throw cliError(
      'OSM_CLI_UNCONFIRMED',
      'the cluster has several meshes, and --force cannot choose one',
      `choose one with --mesh-name: ${described}`,
    )
  }
  const questions = openQuestions(context)
  try {
    const lines = renderMeshes(await listMeshes(cluster), color)
    context.stdout.write(`List of meshes present in the cluster:\n${toText(lines)}`)
    const agreed: ControlPlane[] = []
    for (const mesh of named) {
      const question = `\nUninstall OSM [mesh name: ${mesh.meshName}] in namespace [${mesh.namespace}]${extent(options)}?`
      if (await questions.confirm(question)) agreed.push(mesh)
    }
    return agreed
  } finally {
    questions.close()
  }
}

/** What goes beside the control plane is part of the question. */
function extent(options: Extent): string {
  const more = leftovers(options)
  return more.length === 0 ? '' : `, ${more.join(', ')}`
}

type Extent = Pick<UninstallOptions, 'deleteNamespace' | 'deleteClusterWideResources'>

function leftovers({ deleteNamespace, deleteClusterWideResources }: Extent): readonly string[] {
  return [
    ...(deleteNamespace ? ['that namespace with everything in it'] : []),
    ...(deleteClusterWideResources
      ? ['its certificate authority and, with every policy of the cluster, the CRDs']
      : []),
  ]
}

async function uninstallOne(mesh: ControlPlane, options: UninstallOptions): Promise<void> {
  const { helm, flags, context, timeout, deleteNamespace } = options
  const { meshName, namespace, release } = mesh
  const run = { helm, namespace, flags, context, signal: context.signal }
  context.stderr.write(`osm: uninstall of mesh ${meshName} in namespace ${namespace} by helm ${helm.version}\n`)
  await runHelm(run, ['uninstall', release, '--wait', `--timeout=${timeout}`])
  teller(options)(`OSM [mesh name: ${meshName}] in namespace [${namespace}] uninstalled`)
  if (deleteNamespace) await deleteNamespaceOf(namespace, options)
}

async function deleteNamespaceOf(namespace: string, options: UninstallOptions): Promise<void> {
  const { api, signal } = options.cluster
  const found = await api.delete(resourceTypes.Namespace, { namespace: '', name: namespace }, { signal })
  teller(options)(
    found
      ? `OSM namespace [${namespace}] is being deleted, with everything in it`
      : `OSM namespace [${namespace}] not found`,
  )
}

/** What a mesh has left that was uninstalled before, without the option. */
async function agreedLeftovers({
  cluster,
  context,
  meshName = 'osm',
  force,
  deleteNamespace,
  deleteClusterWideResources,
}: UninstallOptions): Promise<readonly GoneMesh[]> {
  const namespace = cluster.osmNamespace
  const gone = [{ meshName, namespace }]
  if (force) return gone
  const questions = openQuestions(context)
  try {
    const left = leftovers({ deleteNamespace, deleteClusterWideResources }).join(', ')
    const question = `\nDelete what OSM [mesh name: ${meshName}] in namespace [${namespace}] has left: ${left}?`
    return (await questions.confirm(question)) ? gone : []
  } finally {
    questions.close()
  }
}

function teller({ context }: UninstallOptions): (line: string) => void {
  return (line) => void context.stdout.write(`${plainLine(line)}\n`)
}
