import type { ObjectRef, Problem } from '../../../problem.js'
import type { SpecErrorCode } from '../../../spec/error-codes.js'
import type { CatalogErrorCode } from '../../error-codes.js'
import type { NamespacedName } from '../parts/keys.js'

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

/** Maximum number of problems that are listed for one object. */
const MAX_PROBLEMS = 50

/** Collects problems of one object. Lists the first {@link MAX_PROBLEMS} and counts the others. */
export class ProblemList {
  readonly #object: ObjectRef
  readonly #problems: PolicyProblem[] = []
  #unlisted = 0
  #hasUnlistedError = false

  constructor(object: ObjectRef) {
    this.#object = object
  }

  get items(): readonly PolicyProblem[] {
    if (this.#unlisted === 0) return this.#problems
    const message = `has ${this.#unlisted} more problems, which are not listed`
    const severity = this.#hasUnlistedError ? 'error' : 'warning'
    return [...this.#problems, { code: 'OSM_SPEC_MORE', severity, message, object: this.#object, field: 'spec' }]
  }

  error(code: PolicyProblem['code'], field: string, message: string): void {
    this.#add({ code, severity: 'error', message, object: this.#object, field })
  }

  warning(code: PolicyProblem['code'], field: string, message: string): void {
    this.#add({ code, severity: 'warning', message, object: this.#object, field })
  }

  #add(problem: PolicyProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) {
      this.#problems.push(problem)
      return
    }
    this.#unlisted += 1
    this.#hasUnlistedError ||= problem.severity === 'error'
  }
}
