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
  var length = turns.length
  // The one that there is has every turn.
  if (length === 1) {
    var only = turns[0].element
    return fits && !fits(only) ? undefined : only
  }
  var total = 0
  var best = undefined
  for (var i = 0; i < length; i = i + 1) {
    var turn = turns[i]
    if (!fits || fits(turn.element)) {
      total = total + turn.weight
      turn.due = turn.due + turn.weight
      if (best === undefined || turn.due > best.due) best = turn
    }
  }
  if (best === undefined) return undefined
  best.due = best.due - total
  return best.element
}

/**
 * Takes the turn among those that have the least load for their weight, so that idle ones share alike.
 *
 * @returns {unknown} the element, or undefined if there is none
 */
export function takeLeast(turns, loadOf, fits) {
  var least = undefined
  var share = shareOf(loadOf)
  turns.forEach((turn) => {
    if (fits && !fits(turn.element)) return
    if (least === undefined || share(turn.element) < least) least = share(turn.element)
  })
  return takeTurn(turns, (element) => (!fits || fits(element)) && share(element) === least)
}

// Not in the scope of those that use it, see loadsOf in upstream.js.
function shareOf(loadOf) {
  return (element) => loadOf(element) / element.weight
}

/**
 * Finds what a text always leads to while it is there: of `n` equal elements each gets an `n`th of all texts, and one that goes leaves the others theirs.
 *
 * @returns {unknown} the element, or undefined if there is none
 */
export function takeByHash(elements, text, fits) {
  var best = undefined
  var highest = -1
  elements.forEach((element) => {
    if (fits && !fits(element)) return
    // Weighted rendezvous: the logarithm of an even share, divided by the weight.
    var score = element.weight / -Math.log((hash(text + '|' + element.address) + 1) / (PRIME + 1))
    if (score > highest) {
      highest = score
      best = element
    }
  })
  return best
}

var PRIME = 2147483647

// Multiplies and mixes, by steps that are small enough for products without loss.
function hash(text) {
  var value = 40389
  for (var i = 0; i < text.length; i = i + 1) value = ((value ^ text.charCodeAt(i)) * 65599) % PRIME
  // The last characters often are all that differs.
  for (var round = 0; round < 4; round = round + 1) value = ((value ^ (value >> 13)) * 65599) % PRIME
  return value
}
