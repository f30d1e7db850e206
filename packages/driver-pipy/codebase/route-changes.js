// What routes change of requests and answers, and where redirects lead.

/** True if a route does more than to share out requests: it changes messages, copies them, or answers some. */
export function changesMessages(route) {
  return isStrictRoute(route) || Boolean(route.request || route.rewrite)
}

/** True if a route does what the short way of ordinary requests has no place for: all that is not the same for each request with the same head. */
export function isStrictRoute(route) {
  if (route.redirect || route.response || route.mirrors) return true
  return route.shares.some((share) => share.status !== undefined || Boolean(share.request || share.response))
}

/** Changes a request before it continues: its `head`, and what is known of it for the log. `share` is undefined where no share changes anything. */
export function changeRequest(head, request, route, share) {
  if (!head.headers) head.headers = request.headers
  var headers = head.headers
  if (route.request) changeHeaders(headers, route.request)
  if (share && share.request) changeHeaders(headers, share.request)
  var rewrite = route.rewrite
  if (!rewrite) return
  if (rewrite.host !== undefined) {
    headers.host = rewrite.host
    if (head.authority) head.authority = rewrite.host
    request.authority = rewrite.host
  }
  if (rewrite.path) head.path = changedPath(rewrite.path, request.path) + request.query
}

/** Changes the head of an answer before the caller gets it. */
export function changeAnswer(head, route, share) {
  if (!head.headers) head.headers = {}
  if (route.response) changeHeaders(head.headers, route.response)
  if (share && share.response) changeHeaders(head.headers, share.response)
}

// Changes are `{ set, add, remove }`.
function changeHeaders(headers, changes) {
  if (changes.remove)
    changes.remove.forEach((name) => {
      delete headers[name]
    })
  if (changes.set) changes.set.forEach((each) => void (headers[each[0]] = each[1]))
  if (changes.add)
    changes.add.forEach((each) => void (headers[each[0]] = withValue(each[0], headers[each[0]], each[1])))
}

// One value of all, as everywhere in these scripts; that of `set-cookie` is a list.
function withValue(name, old, value) {
  if (old === undefined || old === null) return value
  var values = (typeof old === 'string' ? [old] : old).concat([value])
  return name === 'set-cookie' ? values : values.join(name === 'cookie' ? '; ' : ',')
}

// A path without its query.
function changedPath(change, path) {
  if (change.full !== undefined) return change.full
  var rest = path.substring(change.prefix.length)
  // Whatever is left begins with one slash; a path is never empty.
  var slash = rest !== '' || change.value === '' ? '/' : ''
  for (var first = rest.charAt(0); first === '/'; first = rest.charAt(0)) rest = rest.substring(1)
  return change.value + slash + rest
}

/**
 * The answer by which a route sends a caller elsewhere.
 *
 * @param request - see request.js
 * @param isForward - true if the request has named the whole URL
 */
export function redirectAnswer(redirect, request, isForward) {
  var forwarded = forwardedScheme(request)
  // A proxy in front of the caller says in a header what its own caller spoke.
  var own = request.protocol.startsWith('HTTP/1') ? (isForward ? 'http' : knownScheme(forwarded)) : request.scheme
  var scheme = redirect.scheme || own
  var port = redirect.port === undefined ? '' : ':' + redirect.port
  var host = redirect.host === undefined ? keptHost(request.authority, scheme, forwarded, port) : redirect.host
  var path = redirect.path ? changedPath(redirect.path, request.path) : request.path
  return { status: redirect.status, headers: [['location', scheme + '://' + host + port + path + request.query]] }
}

function forwardedScheme(request) {
  var value = request.headers['x-forwarded-proto']
  return typeof value === 'string' ? value.toLowerCase() : 'http'
}

function knownScheme(text) {
  return text === 'https' ? text : 'http'
}

// The host of a request without its port, if that is replaced, or is the usual one of a scheme that is replaced.
function keptHost(authority, scheme, forwarded, port) {
  var colon = authority.startsWith('[') ? authority.lastIndexOf(']:') + 1 : authority.lastIndexOf(':')
  if (colon <= 0) return authority
  var own = authority.substring(colon)
  var isUsual = (forwarded === 'https' && own === ':443') || (forwarded === 'http' && own === ':80')
  return port !== '' || (scheme !== forwarded && isUsual) ? authority.substring(0, colon) : authority
}
