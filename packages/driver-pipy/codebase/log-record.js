// What a collector is told of a request, by the names that osm-edge had for it.

/** Bytes of a body that are kept of each request and each answer. */
export var MOST_BODY = 4096

// What proves who somebody is must not be anywhere else.
var secretHeaders = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-forwarded-client-cert']

/**
 * A record of what is over.
 *
 * @param entry - see access-log.js
 * @param about - `{ workload, remoteLog, host, trace, received, sent }`: of the configuration; name of the machine; the trace of the request; the beginnings of both
 *   bodies in base64
 */
export function recordOf(entry, about) {
  var conn = entry.conn
  var request = entry.request
  var head = entry.head || {}
  var local = splitAddress(conn.dialled ? conn.dialled.address + ':' + conn.dialled.port : conn.local)
  var workload = about.workload
  var address = about.remoteLog.workloadAddress
  return {
    reqTime: entry.since,
    resTime: entry.answered || entry.ended,
    endTime: entry.ended,
    type: entry.direction,
    meshName: about.remoteLog.meshName,
    remoteAddr: conn.source,
    remotePort: conn.sourcePort,
    localAddr: local.address,
    localPort: local.port,
    node: { ip: address, name: about.host },
    pod: { ns: workload.namespace, ip: address, name: workload.instance },
    service: {
      name: entry.id || entry.cluster || '',
      target: entry.address || '',
      ingressMode: conn.kind === 'ingress',
      egressMode: entry.direction === 'outbound' && !entry.isMesh,
    },
    trace: traceOf(about.trace),
    req: {
      protocol: request.protocol,
      method: request.method,
      scheme: request.scheme,
      authority: request.authority,
      path: request.fullPath,
      headers: shown(request.headers),
      reqSize: entry.received,
      body: about.received,
    },
    res: {
      status: head.status || 0,
      headers: shown(head.headers || {}),
      resSize: entry.sent,
      body: about.sent,
    },
  }
}

/**
 * Whether a request is recorded. Of one trace it is so on both sides, or on neither: sidecars do not have to agree on it.
 *
 * @param random - gives a number from 0 to 1, for requests of no trace
 */
export function isRecorded(fraction, trace, random) {
  if (fraction >= 1) return true
  if (!(fraction > 0)) return false
  return (trace ? shareOf(trace) : random()) < fraction
}

// Ids are random: the last of their digits are a number from 0 to 1.
function shareOf(id) {
  var share = 0
  id.substring(id.length - 8)
    .toLowerCase()
    .split('')
    .forEach((digit) => void (share = share * 16 + '0123456789abcdef'.indexOf(digit)))
  return share / 4294967296
}

function traceOf(trace) {
  return {
    id: (trace && trace.trace) || '',
    span: (trace && trace.span) || '',
    parent: (trace && trace.parent) || '',
    sampled: trace && trace.sampled !== undefined ? (trace.sampled ? '1' : '0') : '',
  }
}

function shown(headers) {
  var all = {}
  Object.keys(headers).forEach((name) => {
    all[name] = secretHeaders.includes(name.toLowerCase()) ? '[redacted]' : headers[name]
  })
  return all
}

function splitAddress(text) {
  var colon = ('' + text).lastIndexOf(':')
  return colon < 0 ? { address: '', port: 0 } : { address: text.substring(0, colon), port: +text.substring(colon + 1) }
}
