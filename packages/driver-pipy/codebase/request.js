// What is decided on of a request, and answers that the sidecar gives itself.

/** What conditions look at. The path stands apart from the query. */
export function describeRequest(head) {
  var headers = head.headers || {}
  var full = head.path
  var cut = full.indexOf('?')
  var type = headers['content-type']
  return {
    method: head.method,
    path: cut < 0 ? full : full.substring(0, cut),
    query: cut < 0 ? '' : full.substring(cut),
    fullPath: full,
    authority: head.authority || headers.host || '',
    scheme: head.scheme || 'http',
    protocol: head.protocol || 'HTTP/2',
    headers,
    isGrpc: type !== undefined && ('' + (type || '')).startsWith('application/grpc'),
  }
}

/** What plugins are told of a request. */
export function aboutRequest(request, caller) {
  return {
    method: request.method,
    path: request.fullPath,
    authority: request.authority,
    headers: request.headers,
    caller,
  }
}

// gRPC statuses for those of HTTP.
var grpcStatuses = { 400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14 }

/** Head and body of an answer of the sidecar: `{ status, body, headers, grpcStatus }`. Callers of gRPC are told by its own status. */
export function answerParts(answer, isGrpc) {
  var headers = {}
  ;(answer.headers || []).forEach((header) => void (headers[header[0]] = header[1]))
  var text = answer.body || ''
  if (isGrpc) {
    var code = answer.grpcStatus || grpcStatuses[answer.status] || 2
    headers['content-type'] = 'application/grpc'
    headers['grpc-status'] = '' + code
    headers['grpc-message'] = text
    return { head: { status: 200, headers }, body: '' }
  }
  if (text !== '') headers['content-type'] = 'text/plain'
  var empty = answer.status === 204 || answer.status === 205 || answer.status === 304
  return { head: { status: answer.status, headers }, body: empty ? '' : text }
}

/** An answer of the sidecar as events, without its end: that is the end of the request. */
export function answerEvents(parts) {
  var start = new MessageStart(parts.head)
  return parts.body === '' ? start : [start, new Data(parts.body)]
}

// Headers of an answer of gRPC that are about the message, and not about the call.
var messageHeaders = ['content-type', 'content-length', 'date', 'server', 'via']

/**
 * Takes apart an answer of gRPC that is its status alone: trailers in place of a head. Pipy does not end a stream with its head, and clients look for
 * trailers behind it then. Undefined for other answers.
 */
export function splitStatus(start) {
  var headers = start.head.headers
  if (!headers || headers['grpc-status'] === undefined) return undefined
  var kept = {}
  var trailers = {}
  Object.keys(headers).forEach((name) => {
    if (messageHeaders.includes(name)) kept[name] = headers[name]
    else trailers[name] = headers[name]
  })
  return { start: new MessageStart(Object.assign({}, start.head, { headers: kept })), trailers }
}

/**
 * Sees to the headers by which a connection becomes one of another protocol. Pipy takes `connection` away when it reads. WebSockets are the only protocol
 * that a request may change to: what follows would be read by no one here.
 */
export function settleUpgrade(headers) {
  var upgrade = headers.upgrade
  if (upgrade === undefined) return
  if (('' + upgrade).toLowerCase() === 'websocket') {
    headers.upgrade = 'websocket'
    headers.connection = 'upgrade'
  } else {
    delete headers.upgrade
    delete headers['http2-settings']
  }
}
