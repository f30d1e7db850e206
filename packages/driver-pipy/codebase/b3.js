// B3: the headers by which a request says which trace it belongs to. Written as several headers, read as one (`b3`) as well.

var ID_LENGTH = 16

/**
 * What the headers of a request say.
 *
 * @returns {unknown} `{ trace, span, parent, sampled }`; `trace` and `span` are undefined where no trace is named, or not as B3 has it, and `sampled` where
 *   no one has decided yet
 */
export function readTrace(headers) {
  var single = headers.b3
  if (typeof single === 'string') {
    var parts = single.toLowerCase().split('-')
    if (parts.length === 1) return traceOf(undefined, undefined, undefined, parts[0])
    return traceOf(parts[0], parts[1], parts[3], parts[2])
  }
  return traceOf(
    headers['x-b3-traceid'],
    headers['x-b3-spanid'],
    headers['x-b3-parentspanid'],
    headers['x-b3-flags'] === '1' ? 'd' : headers['x-b3-sampled'],
  )
}

/** Writes a trace into the headers of a request, in place of what they have said. */
export function writeTrace(headers, trace) {
  delete headers.b3
  delete headers['x-b3-parentspanid']
  headers['x-b3-traceid'] = trace.trace
  headers['x-b3-spanid'] = trace.span
  if (trace.parent) headers['x-b3-parentspanid'] = trace.parent
  headers['x-b3-sampled'] = trace.sampled ? '1' : '0'
}

/**
 * The trace of a request from here on. On its way in, a request shares the span of its caller; on its way out it has one of its own.
 *
 * @param known - see readTrace
 * @param makeId - gives an id that nothing else has
 * @param decide - whether spans of a request are kept that no one has decided on yet
 */
export function continueTrace(known, isInbound, makeId, decide) {
  var sampled = known.sampled === undefined ? decide() : known.sampled
  if (!known.trace) {
    var id = makeId()
    return { trace: id, span: id, parent: undefined, sampled, isShared: false }
  }
  if (isInbound) return { trace: known.trace, span: known.span, parent: known.parent, sampled, isShared: true }
  return { trace: known.trace, span: makeId(), parent: known.span, sampled, isShared: false }
}

/** An id of 16 hexadecimal digits out of a random UUID, without the digits that are the same in all of them. */
export function idOf(uuid) {
  return uuid.substring(0, 8) + uuid.substring(uuid.length - 8)
}

function traceOf(trace, span, parent, sampled) {
  var isNamed = (isId(trace, ID_LENGTH) || isId(trace, 2 * ID_LENGTH)) && isId(span, ID_LENGTH)
  return {
    trace: isNamed ? trace.toLowerCase() : undefined,
    span: isNamed ? span.toLowerCase() : undefined,
    parent: isNamed && isId(parent, ID_LENGTH) ? parent.toLowerCase() : undefined,
    sampled: decisionOf(sampled),
  }
}

function decisionOf(text) {
  if (text === '1' || text === 'd' || text === 'true') return true
  if (text === '0' || text === 'false') return false
  return undefined
}

// Hexadecimal, and not all noughts.
function isId(text, length) {
  if (typeof text !== 'string' || text.length !== length) return false
  var some = false
  for (var i = 0; i < length; i = i + 1) {
    if (!'0123456789abcdefABCDEF'.includes(text.charAt(i))) return false
    if (text.charAt(i) !== '0') some = true
  }
  return some
}
