// Results that are looked up instead of being computed again: requests of a workload are much alike.

/** Nothing is known; of so many texts of so many characters at most. What is known is forgotten as a whole, so that nothing has to be counted in use. */
// A Map, because objects have properties of their own, such as `toString`.
export function makeMemo(most, longest) {
  return { most, longest, count: 0, known: new Map() }
}

/** What `compute` gives for a text. It must depend on nothing else, and must not be changed. */
export function recall(memo, text, compute) {
  if (text.length > memo.longest) return compute(text)
  var known = memo.known.get(text)
  if (known !== undefined) return known
  return remember(memo, text, compute(text))
}

/** Keeps what holds for a text, and gives it back. Undefined is not kept. */
export function remember(memo, text, known) {
  if (known === undefined || text.length > memo.longest) return known
  if (memo.count >= memo.most) {
    memo.known = new Map()
    memo.count = 0
  }
  memo.known.set(text, known)
  memo.count = memo.count + 1
  return known
}
