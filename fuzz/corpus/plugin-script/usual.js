// adds a header
var limit = 3
export function onRequest(head, config) {
  for (var i = 0; i < limit; i = i + 1) { head.headers['x-' + i] = `v${i}` }
  return (() => ({ head: head, list: [1, 2].map(x => x * 2) }))()
}
