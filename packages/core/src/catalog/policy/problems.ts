import type { ObjectRef, Problem } from '../../problem.js'
import type { SpecErrorCode } from '../../spec/error-codes.js'
import type { CatalogErrorCode } from '../error-codes.js'
import type { NamespacedName } from './keys.js'

/**
 * A problem as queries find it; where the object is written down is looked up when somebody asks. What the checks of the specification report as
 * well goes by the same code, object and field, so that both count as one.
 */
export type PolicyProblem = Omit<Problem, 'origin'> & {
  readonly code: CatalogErrorCode | SpecErrorCode
  readonly object: ObjectRef
}

/** Names an object of a kind. */
export function objectRefOf(kind: string, { namespace, name }: NamespacedName): ObjectRef {
  return { kind, namespace, name }
}

/** Collects problems of one object. */
export class ProblemList {
  readonly #object: ObjectRef
  readonly #problems: PolicyProblem[] = []

  constructor(object: ObjectRef) {
    this.#object = object
  }

  get items(): readonly PolicyProblem[] {
    return this.#problems
  }

  error(code: PolicyProblem['code'], field: string, message: string): void {
    this.#problems.push({ code, severity: 'error', message, object: this.#object, field })
  }

  warning(code: PolicyProblem['code'], field: string, message: string): void {
    this.#problems.push({ code, severity: 'warning', message, object: this.#object, field })
  }
}
