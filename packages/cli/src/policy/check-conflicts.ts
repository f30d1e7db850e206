import type { Problem, SpecErrorCode } from '@osm-ts/core'

import type { MeshModel } from '../spec/load-mesh-model.js'

/** Conflicts among the IngressBackends of a namespace. */
export function ingressBackendConflicts(
  { problems }: Pick<MeshModel, 'problems'>,
  namespace: string,
): readonly Problem[] {
  const conflict: SpecErrorCode = 'OSM_SPEC_CONFLICT'
  return problems.filter(
    ({ code, object }) => code === conflict && object?.kind === 'IngressBackend' && object.namespace === namespace,
  )
}
