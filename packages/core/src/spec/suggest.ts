/**
 * Number of single-character insertions, deletions, replacements and swaps that lead from one word to the other, or
 * `limit + 1` if more.
 */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      )
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1)
      current.push(cost)
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

/** The candidate that was most likely meant, or undefined when none is near. Ties go to the first. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  // Long words come from mistakes of another sort than typing, and would cost time.
  if (word.length > 64) return undefined
  const limit = word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestDistance = limit + 1
  for (const candidate of candidates) {
    const found = distance(lower, candidate.toLowerCase(), limit)
    if (found < bestDistance) {
      best = candidate
      bestDistance = found
    }
  }
  return best
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = closest(word, candidates)
  return found === undefined ? '' : `; did you mean ${JSON.stringify(found)}?`
}
