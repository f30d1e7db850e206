import type { PolicyProblem, ProblemList } from '../problems/problems.js'

/** What is wrong with a rule of a route, and how much so far. Requests of such a rule are answered 500. */
export class RuleFaults {
  readonly #problems: ProblemList
  readonly #effect: string
  #count = 0

  /** @param effect - what comes of a fault */
  constructor(problems: ProblemList, effect: string) {
    this.#problems = problems
    this.#effect = effect
  }

  /** Faults that were added. */
  get count(): number {
    return this.#count
  }

  add(code: PolicyProblem['code'], field: string, message: string): void {
    this.#count += 1
    this.#problems.error(code, field, `${message}; ${this.#effect}`)
  }
}
