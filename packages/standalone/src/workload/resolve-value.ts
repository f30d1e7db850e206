import type { Reference, Value } from '@osm-ts/driver-api'

/** What references stand for, for one sidecar. */
export interface ReferenceValues {
  /** Absolute path of one of the sidecar's files. */
  readonly file: (path: string) => string
  readonly workload: Readonly<Record<Extract<Reference, { ref: 'workload' }>['field'], string>>
}

/** The text of a value. */
export function resolveValue(value: Value, values: ReferenceValues): string {
  if (typeof value === 'string') return value
  return value.map((piece) => (typeof piece === 'string' ? piece : resolveReference(piece, values))).join('')
}

function resolveReference(reference: Reference, { file, workload }: ReferenceValues): string {
  return reference.ref === 'file' ? file(reference.path) : workload[reference.field]
}
