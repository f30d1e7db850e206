// Requests to a proxy, which name the whole URL.

import { makeMemo, recall } from './memo.js'

// URLs that requests have named.
var targets = makeMemo(500, 256)

/** Requests to a proxy name the whole URL; the host in it holds, and the workload called gets the path alone. True if the target can be read. */
export function absoluteForm(head) {
  var path = head.path
  if (path.startsWith('/') || (path === '*' && head.method === 'OPTIONS')) return true
  var parts = recall(targets, path, partsOfURL)
  if (parts.host === '') return false
  if (!head.headers) head.headers = {}
  head.headers.host = parts.host
  head.path = parts.path
  return true
}

// Host and path of a URL; no host for what has none.
function partsOfURL(path) {
  if (path.substring(0, 7).toLowerCase() !== 'http://') return { host: '' }
  var rest = path.substring(7)
  var slash = rest.indexOf('/')
  var mark = rest.indexOf('?')
  var end = slash < 0 ? mark : mark < 0 ? slash : Math.min(slash, mark)
  var host = end < 0 ? rest : rest.substring(0, end)
  if (host.includes('@')) return { host: '' }
  var after = end < 0 ? '/' : rest.substring(end)
  return { host, path: after.startsWith('/') ? after : '/' + after }
}
