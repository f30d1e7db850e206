import type { KindMap } from '../../../spec/index.js'
import type { MeshServicePort } from './services.js'

/** The port of an instance that a service port leads to; undefined if the instance has no port of that name. */
export function targetPortOf(
  { spec }: KindMap['WorkloadInstance'],
  { target }: Pick<MeshServicePort, 'target'>,
): number | undefined {
  return typeof target === 'number' ? target : spec.ports.find(({ name }) => name === target)?.port
}
