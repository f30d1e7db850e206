import { compareProblems, formatProblem, type Problem } from '@osm-ts/core'

/** Problems by who found them. Each finder replaces its own. */
export class ProblemSet {
  readonly #byFinder = new Map<string, readonly Problem[]>()
  readonly #onChange: (problems: readonly Problem[]) => void
  #last = ''
  #isClosed = false

  /** @param onChange - called with the whole list whenever it differs from the one before */
  constructor(onChange: (problems: readonly Problem[]) => void) {
    this.#onChange = onChange
  }

  /** No one is told of anything any more: what is taken down has no problems. */
  close(): void {
    this.#isClosed = true
  }

  /** Replaces what a finder has found; an empty list clears it. */
  set(finder: string, problems: readonly Problem[]): void {
    if (problems.length === 0) this.#byFinder.delete(finder)
    else this.#byFinder.set(finder, problems)
    if (this.#isClosed) return
    const all = this.all()
    const text = all.map(formatProblem).join('\n')
    if (text === this.#last) return
    this.#last = text
    this.#onChange(all)
  }

  /** All problems in the order of their places, each once. */
  all(): readonly Problem[] {
    const found = new Map([...this.#byFinder.values()].flat().map((problem) => [formatProblem(problem), problem]))
    return [...found.values()].sort(compareProblems)
  }
}
