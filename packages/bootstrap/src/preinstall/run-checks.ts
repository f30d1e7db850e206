import { isKubernetesError } from '@osm-ts/kubernetes'

import type { Check, CheckContext, Obstacle } from './check.js'
import { apiServerIsRecent, certManagerIsThere, definitionsFit, permissionsAreThere } from './cluster-checks.js'
import { meshNameIsFree, namespaceIsFree, singleMeshIsKept } from './mesh-checks.js'

/** Without its driver the class of the mesh has no control plane: no pod would start, and running sidecars would be left alone. */
const classHasDriver: Check = {
  name: 'driver of the sidecar class',
  run: ({ sidecarClass, availableClasses }) => {
    if (sidecarClass === undefined || availableClasses.includes(sidecarClass.toLowerCase())) return Promise.resolve([])
    const what = `sidecar class ${JSON.stringify(sidecarClass)} has no driver in this version`
    return Promise.resolve([{ what, advice: `set osm.sidecarClass to one of: ${availableClasses.join(', ')}` }])
  },
}

/** Checks before an installation, in the order in which they are told. */
export const installChecks: readonly Check[] = [
  apiServerIsRecent,
  permissionsAreThere,
  classHasDriver,
  certManagerIsThere,
  namespaceIsFree,
  singleMeshIsKept,
  meshNameIsFree,
  definitionsFit,
]

/** Checks before an upgrade: all but those that look whether there is room for another mesh. */
export const upgradeChecks: readonly Check[] = [
  apiServerIsRecent,
  permissionsAreThere,
  classHasDriver,
  certManagerIsThere,
  definitionsFit,
]

/**
 * Runs every check, so that anyone who has to mend something sees all of it at once, and prints a line for each.
 *
 * @returns true if nothing is in the way
 */
export async function runChecks(
  checks: readonly Check[],
  context: CheckContext,
  print: (text: string) => void,
): Promise<boolean> {
  let failed = 0
  for (const check of checks) {
    const obstacles = await obstaclesOf(check, context)
    print(`[${obstacles.length === 0 ? 'ok' : 'failed'}] ${check.name}\n`)
    for (const { what, advice } of obstacles) print(`  ${what}\n  -> ${advice}\n`)
    if (obstacles.length > 0) failed += 1
  }
  if (failed > 0) print(`${failed} of ${checks.length} checks failed; nothing was changed\n`)
  return failed === 0
}

/** A check that can't look has not found that all is well. */
async function obstaclesOf(check: Check, context: CheckContext): Promise<readonly Obstacle[]> {
  try {
    return await check.run(context)
  } catch (error) {
    if (context.signal.aborted || !isKubernetesError(error)) throw error
    const advice =
      error.code === 'OSM_KUBERNETES_FORBIDDEN'
        ? 'grant the account of osm-preinstall what is said above'
        : 'try again when the API server answers'
    return [{ what: `could not be checked: ${error.message} [${error.code}]`, advice }]
  }
}

/** Checks that need neither the account of osm-preinstall nor the values of the chart. */
const clientChecks: readonly Check[] = [
  apiServerIsRecent,
  namespaceIsFree,
  singleMeshIsKept,
  meshNameIsFree,
  definitionsFit,
]

/**
 * What anyone who installs can see beforehand, with rights of their own, to stand in the way of a mesh.
 *
 * @throws KubernetesError if it could not look
 */
export async function findObstacles(
  context: Omit<CheckContext, 'sidecarClass' | 'availableClasses'>,
): Promise<readonly Obstacle[]> {
  const found: Obstacle[] = []
  for (const { run } of clientChecks) found.push(...(await run({ ...context, availableClasses: [] })))
  return found
}
