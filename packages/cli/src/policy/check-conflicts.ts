import type { Problem, SpecErrorCode } from '@osm-ts/core'

import type { UnderstoodMesh } from '../spec/understand-mesh.js'

/** Conflicts among the IngressBackends of a namespace. */
export function ingressBackendConflicts(
  { problems }: Pick<UnderstoodMesh, 'problems'>,
  namespace: string,
): readonly Problem[] {
  const conflict: SpecErrorCode = 'OSM_SPEC_CONFLICT'
  return problems.filter(
    ({ code, object }) => code === conflict && object?.kind === 'IngressBackend' && object.namespace === namespace,
  )
}
