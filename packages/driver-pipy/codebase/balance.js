// Shares of traffic: weighted turns that are as even as they can be, so that 75 and 25 of 100 are just that.

/**
 * Takes turns over `{ weight }` elements.
 *
 * @returns {unknown} the state of the turns
 */
export function makeTurns(elements) {
  return elements.map((element) => ({ element, weight: element.weight, due: 0 }))
}

/**
 * Takes the next turn. `fits` may leave out elements.
 *
 * @returns {unknown} the element, or undefined if there is none
 */
export function takeTurn(turns, fits) {
  var total = 0
  var best = undefined
  turns.forEach((turn) => {
    if (fits && !fits(turn.element)) return
    total = total + turn.weight
    turn.due = turn.due + turn.weight
    if (best === undefined || turn.due > best.due) best = turn
  })
  if (best === undefined) return undefined
  best.due = best.due - total
  return best.element
}

/**
 * Finds what a text always leads to while the list is the same.
 *
 * @returns {unknown} the element, or undefined if there is none
 */
export function takeByHash(elements, text, fits) {
  var best = undefined
  var highest = -1
  elements.forEach((element) => {
    if (fits && !fits(element)) return
    var score = hash(text + '|' + element.address)
    if (score > highest) {
      highest = score
      best = element
    }
  })
  return best
}

// 31-bit FNV-1a, small enough for products without loss.
function hash(text) {
  var value = 40389
  for (var i = 0; i < text.length; i = i + 1) {
    value = ((value ^ text.charCodeAt(i)) * 65599) % 2147483647
  }
  return value
}
