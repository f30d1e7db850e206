import { isForeign, meshSelector } from '@osm-ts/bootstrap'
import {
  caSecretName,
  customResourceDefinitions,
  isKubernetesError,
  listAll,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { findControlPlanes, type ControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'

/** A mesh that was uninstalled, as far as what it leaves is named after it. */
export type GoneMesh = Pick<ControlPlane, 'meshName' | 'namespace'>

/** Where the leftovers are, and who receives reports. */
export interface LeftoverOptions {
  readonly cluster: Pick<Cluster, 'api' | 'signal'>
  readonly caBundleSecretName: string
  /** Told a line for each object. */
  readonly tell: (line: string) => void
}

type Outcome = 'done' | 'failed'

/**
 * Deletes what meshes leave behind that were uninstalled: webhook configurations and certificate authorities of each, and the
 * CustomResourceDefinitions, with every policy. What a mesh needs that still present is not touched.
 *
 * @returns kinds of which not everything could be deleted
 * @throws KubernetesError if it cannot be seen which meshes stand
 */
export async function deleteLeftovers(gone: readonly GoneMesh[], options: LeftoverOptions): Promise<readonly string[]> {
  const installed = await findControlPlanes(options.cluster)
  const failed = new Set<string>()
  const note = (kind: string, outcome: Outcome): void => void (outcome === 'failed' && failed.add(kind))

  note('CustomResourceDefinitions', await deleteDefinitions(installed, options))
  const doomed = gone.filter((mesh) => isOver(mesh, installed, options))
  for (const mesh of doomed) {
    for (const type of [resourceTypes.MutatingWebhookConfiguration, resourceTypes.ValidatingWebhookConfiguration])
      note(`${type.kind}s`, await deleteWebhooks(type, mesh, options))
    note('Secrets', await deleteSecrets(mesh, options))
  }
  return [...failed]
}

function isOver(mesh: GoneMesh, installed: readonly GoneMesh[], { tell }: LeftoverOptions): boolean {
  const present = installed.find(
    ({ meshName, namespace }) => meshName === mesh.meshName || namespace === mesh.namespace,
  )
  if (present === undefined) return true
  tell(
    `Ignoring - mesh [${present.meshName}] in namespace [${present.namespace}] still exists: its webhook configurations and CA bundle secrets are kept`,
  )
  return false
}

async function deleteDefinitions(installed: readonly GoneMesh[], options: LeftoverOptions): Promise<Outcome> {
  const { cluster, tell } = options
  if (installed.length > 0) {
    const meshes = installed.map(({ meshName, namespace }) => `mesh [${meshName}] in namespace [${namespace}]`)
    tell(`Ignoring - OSM CRDs are kept, because they are in use by ${meshes.join(', ')}`)
    return 'done'
  }
  const type = resourceTypes.CustomResourceDefinition
  const outcomes: Outcome[] = []
  for (const { metadata } of customResourceDefinitions()) {
    const what = { kind: 'CRD', type, namespace: '', name: metadata.name }
    outcomes.push(
      await attempt(what, options, async () => {
        const live = await cluster.api.get(type, { namespace: '', name: metadata.name }, cluster.signal)
        if (live !== undefined && isForeign(live)) return 'it belongs to another tool'
        return live !== undefined
      }),
    )
  }
  return worst(outcomes)
}

async function deleteWebhooks(type: ResourceType, { meshName }: GoneMesh, options: LeftoverOptions): Promise<Outcome> {
  const { cluster, tell } = options
  try {
    const query = { labelSelector: meshSelector(meshName), answer: 'metadata' } as const
    const found = await listAll(cluster.api, type, query, cluster.signal)
    if (found.length === 0)
      tell(
        `Ignoring - did not find any OSM ${type.kind}s of mesh [${meshName}] in the cluster; --mesh-name names another mesh`,
      )
    const outcomes: Outcome[] = []
    for (const { metadata } of found)
      outcomes.push(await attempt({ kind: type.kind, type, namespace: '', name: metadata.name }, options))
    return worst(outcomes)
  } catch (error) {
    if (!isKubernetesError(error)) throw error
    tell(`Failed to list OSM ${type.kind}s in the cluster: ${error.message} [${error.code}]`)
    return 'failed'
  }
}

async function deleteSecrets({ namespace }: GoneMesh, options: LeftoverOptions): Promise<Outcome> {
  const { caBundleSecretName } = options
  const outcomes: Outcome[] = []
  for (const authority of ['workload', 'control-plane'] as const) {
    const name = caSecretName(caBundleSecretName, authority)
    outcomes.push(await attempt({ kind: 'secret', type: resourceTypes.Secret, namespace, name }, options))
  }
  return worst(outcomes)
}

interface Doomed {
  /** As lines call it. */
  readonly kind: string
  readonly type: ResourceType
  readonly namespace: string
  readonly name: string
}

/** Deletes an object and tells what came of it. The look says whether it is there, or why it stays. */
async function attempt(
  { kind, type, namespace, name }: Doomed,
  { cluster, tell }: LeftoverOptions,
  look: () => Promise<boolean | string> = () => Promise.resolve(true),
): Promise<Outcome> {
  const what = `OSM ${kind}`
  const where = namespace === '' ? '' : ` in namespace ${namespace}`
  try {
    const found = await look()
    if (typeof found === 'string') tell(`Ignoring - ${what} ${name}${where} stays: ${found}`)
    else if (found && (await cluster.api.delete(type, { namespace, name }, { signal: cluster.signal })))
      tell(`Successfully deleted ${what}: ${name}${where}`)
    else tell(`Ignoring - did not find ${what}: ${name}${where}`)
    return 'done'
  } catch (error) {
    if (!isKubernetesError(error)) throw error
    tell(`Failed to delete ${what} ${name}${where}: ${error.message} [${error.code}]`)
    return 'failed'
  }
}

function worst(outcomes: readonly Outcome[]): Outcome {
  return outcomes.includes('failed') ? 'failed' : 'done'
}
