import type { Check, CheckContext, Obstacle } from './check.js'
import { apiServerIsRecent, definitionsFit } from './cluster-checks.js'
import { meshNameIsFree, namespaceIsFree, singleMeshIsKept } from './mesh-checks.js'

/** Checks that need neither the account of osm-preinstall nor the values of the chart. */
const checks: readonly Check[] = [apiServerIsRecent, namespaceIsFree, singleMeshIsKept, meshNameIsFree, definitionsFit]

/**
 * What anyone who installs can see beforehand, with rights of their own, to stand in the way of a mesh.
 *
 * @throws KubernetesError if it could not look
 */
export async function findObstacles(
  context: Omit<CheckContext, 'sidecarClass' | 'availableClasses'>,
): Promise<readonly Obstacle[]> {
  const found: Obstacle[] = []
  for (const { run } of checks) found.push(...(await run({ ...context, availableClasses: [] })))
  return found
}
