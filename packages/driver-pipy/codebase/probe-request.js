// Which requests are probes. Anyone who asks has no certificate: nothing else may get past mutual TLS here.

// Headers that applications have been known to take for a caller's identity. No header is proof of one.
var identityHeaders = ['x-forwarded-client-cert', 'serviceidentity']

/**
 * The probe that a request is, or the status to answer with. A probe has no query, and but for gRPC no body and no other method than GET and HEAD.
 */
export function probeOf(probes, head) {
  var probe = probes.find((probe) => probe.path === head.path)
  if (!probe) return { status: 404 }
  if (probe.type === 'grpc') return isCall(head) ? { probe } : { status: 404 }
  if (head.method !== 'GET' && head.method !== 'HEAD') return { status: 405 }
  if ('content-length' in head.headers || 'transfer-encoding' in head.headers) return { status: 400 }
  return { probe }
}

function isCall(head) {
  return head.method === 'POST' && (head.headers['content-type'] || '').startsWith('application/grpc')
}

/** What the workload is asked in place of what was asked. */
export function askWorkload(probe, head) {
  identityHeaders.forEach((name) => void delete head.headers[name])
  if (probe.type === 'grpc') return
  head.path = probe.targetPath
  probe.headers.forEach((header) => void (head.headers[header[0].toLowerCase()] = header[1]))
}
