// Decides regular expressions by the automaton that the control plane has made of them: one step for each character, whatever the expression is.
// Pipy's own engine goes back and forth, and a text can be made for it that takes years.

import { makeMemo, recall } from './memo.js'

/** True if the automaton takes the whole text. */
export function matchesTable(table, text) {
  if (!table.memo) table.memo = makeMemo(100, 256)
  return recall(table.memo, text, (asked) => accepts(table, asked)) === true
}

function accepts(table, text) {
  var state = 0
  for (var i = 0; i < text.length; i = i + 1) {
    state = table.next[state][classOf(table.bounds, text.charCodeAt(i))]
    if (state < 0) return false
  }
  return table.accepts[state] === 1
}

// The last class that does not begin after the character.
function classOf(bounds, code) {
  var low = 0
  var high = bounds.length - 1
  var middle = 0
  for (var step = 0; low < high; step = step + 1) {
    middle = (low + high + 1) >> 1
    if (bounds[middle] <= code) low = middle
    else high = middle - 1
  }
  return low
}
