/**
 * Number of single-character insertions, deletions, replacements and swaps that lead from one word to the other, or
 * `limit + 1` if more.
 */
function distance(whole: string, other: string, limit: number): number {
  // Names of one kind often differ in a few letters only, and what they share costs nothing then.
  let start = 0
  while (start < whole.length && start < other.length && whole[start] === other[start]) start += 1
  let shared = 0
  const most = Math.min(whole.length, other.length) - start
  while (shared < most && whole[whole.length - 1 - shared] === other[other.length - 1 - shared]) shared += 1
  const a = whole.slice(start, whole.length - shared)
  const b = other.slice(start, other.length - shared)
  let beforePrevious: readonly number[] = []
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row += 1) {
    const current = new Array<number>(b.length + 1).fill(Number.POSITIVE_INFINITY)
    current[0] = row
    let least = row
    // Whatever is further from the diagonal is beyond the limit.
    for (let column = Math.max(1, row - limit); column <= Math.min(b.length, row + limit); column += 1) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      )
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1)
      current[column] = cost
      least = Math.min(least, cost)
    }
    // A swap looks two rows back and costs one.
    if (least > limit + 1) return limit + 1
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

/** Candidates that one word is compared with. */
const maxCompared = 500

/** What those who look at one object may still spend on suggestions: an object may be wrong in more places than anybody reads. */
export class SuggestionBudget {
  #words = 20
  #looks = 10_000
  #comparisons = 1_000

  /** Begins with a word. */
  spendWord(): void {
    this.#words -= 1
  }

  /** False once there is nothing left for looking at another candidate. */
  spendLook(): boolean {
    this.#looks -= 1
    return this.#looks >= 0
  }

  /** False once there is nothing left for another comparison. */
  spendComparison(): boolean {
    this.#comparisons -= 1
    return this.#comparisons >= 0
  }

  get isSpent(): boolean {
    return this.#words <= 0 || this.#looks <= 0 || this.#comparisons <= 0
  }
}

/** The candidate that was most likely meant, or undefined when none is near. Ties go to the first. */
export function closest(
  word: string,
  candidates: Iterable<string>,
  budget = new SuggestionBudget(),
): string | undefined {
  // Long words come from mistakes of another sort than typing, and would cost time.
  if (word.length > 64 || budget.isSpent) return undefined
  budget.spendWord()
  const limit = word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestDistance = limit + 1
  let compared = 0
  for (const candidate of candidates) {
    if (!budget.spendLook()) break
    // Those of another length are told apart without looking at their letters.
    if (Math.abs(candidate.length - word.length) > limit) continue
    compared += 1
    if (compared > maxCompared || !budget.spendComparison()) break
    const found = distance(lower, candidate.toLowerCase(), limit)
    if (found < bestDistance) {
      best = candidate
      bestDistance = found
    }
  }
  return best
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>, budget?: SuggestionBudget): string {
  const found = closest(word, candidates, budget)
  return found === undefined ? '' : `; did you mean ${JSON.stringify(found)}?`
}
