import { OsmError, type EnvironmentVariable, type Reference, type Value } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import type { JsonObject } from '../json/json.js'

type WorkloadField = Extract<Reference, { ref: 'workload' }>['field']

/** Where Kubernetes has what references of a driver name. */
const FIELD_PATHS: Readonly<Record<WorkloadField, string>> = {
  address: 'status.podIP',
  instance: 'metadata.name',
  namespace: 'metadata.namespace',
  serviceAccount: 'spec.serviceAccountName',
  uid: 'metadata.uid',
  node: 'spec.nodeName',
}

/** What of a workload is known before it runs. */
export type KnownFields = Readonly<Partial<Record<WorkloadField, string>>>

/** Facts of the pod that a container's own variables hold, for text that needs them. */
export class ContainerValues {
  readonly #folder: string
  readonly #needed = new Set<WorkloadField>()

  /** @param folder - where the files of the sidecar are mounted */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Text for a command line or variable: facts of the pod are in it as variables, which the kubelet fills in. */
  text(value: Value): string {
    if (typeof value === 'string') return literal(value)
    return value.map((piece) => (typeof piece === 'string' ? literal(piece) : this.#reference(piece))).join('')
  }

  /** Variables as Kubernetes has them, those that texts so far have needed first: a variable can refer to those before it. */
  environment(variables: readonly EnvironmentVariable[]): readonly JsonObject[] {
    const own = variables.map(({ name, value }): JsonObject => {
      const field = soleField(value)
      return field === undefined ? { name, value: this.text(value) } : { name, valueFrom: fieldRef(field) }
    })
    const helpers = [...this.#needed].sort().map((field) => ({ name: variableOf(field), valueFrom: fieldRef(field) }))
    return [...helpers, ...own]
  }

  #reference(reference: Reference): string {
    if (reference.ref === 'file') return literal(`${this.#folder}/${reference.path}`)
    this.#needed.add(reference.field)
    return `$(${variableOf(reference.field)})`
  }
}

/**
 * Text of a file, which is written before the pod exists.
 *
 * @throws OsmError `OSM_INJECT_PATCH` if it needs what is not known yet
 */
export function fileText(value: Value, folder: string, known: KnownFields): string {
  if (typeof value === 'string') return value
  const parts = value.map((piece) => {
    if (typeof piece === 'string') return piece
    if (piece.ref === 'file') return `${folder}/${piece.path}`
    const fact = known[piece.field]
    if (fact !== undefined) return fact
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_PATCH',
      `a file of the sidecar needs the workload's ${piece.field}, which is not known before the pod runs; ` +
        `the driver must pass it as a variable or an argument`,
    )
  })
  return parts.join('')
}

/** A variable's source in the pod itself. */
export function fieldRef(field: WorkloadField): JsonObject {
  return { fieldRef: { fieldPath: FIELD_PATHS[field] } }
}

/** Kubernetes reads `$(NAME)` in command lines and variables; a doubled dollar is a dollar to it. */
export function literal(text: string): string {
  return text.replaceAll('$', '$$$$')
}

function soleField(value: Value): WorkloadField | undefined {
  if (typeof value === 'string' || value.length !== 1) return undefined
  const [piece] = value
  return typeof piece === 'object' && piece.ref === 'workload' ? piece.field : undefined
}

function variableOf(field: WorkloadField): string {
  return `OSM_WORKLOAD_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}
