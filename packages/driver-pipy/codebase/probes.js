// Probes of the workload, answered without TLS: a kubelet has no certificate.

import { askerOf } from './http1.js'
import { askWorkload, probeOf } from './probe-request.js'
import { settleHead } from './http1-head.js'
import { strictRequests } from './strict-requests.js'

var $probes
var $probe
var $status

var connectProbe = pipeline(($) =>
  $.connect(
    () => $probe.target,
    () => ({ connectTimeout: $probe.timeoutMs / 1000, readTimeout: $probe.timeoutMs / 1000 }),
  ),
)

// The certificate of the workload is no business of a kubelet's either.
var connectProbeTLS = pipeline(($) => $.connectTLS({ trusted: [] }).to(connectProbe))

/** Serves the probes of one address: by a path each, and nothing else. */
export var serveProbes = pipeline(($) =>
  $.onStart((probes) => void ($probes = probes))
    .pipe(strictRequests)
    .demuxHTTP()
    .to(($) =>
      $.handleMessageStart((start) => choose(start.head)).pipe(() => ($probe ? $probe.type : 'none'), {
        none: ($) => $.replaceData().replaceMessage(() => new Message({ status: $status })),
        tcp: ($) => $.replaceData().replaceMessage(() => reach($probe)),
        http: ($) =>
          $.replaceData()
            .muxHTTP(() => $probe, { maxQueue: 1 })
            .to(($) => $.pipe(askerOf(0), () => [connectProbe])),
        // Anyone who asks speaks gRPC itself.
        grpc: ($) =>
          $.muxHTTP(() => $probe, { version: 2 }).to(($) =>
            $.connect(
              () => $probe.target,
              () => ({ connectTimeout: $probe.timeoutMs / 1000, readTimeout: $probe.timeoutMs / 1000 }),
            ),
          ),
        https: ($) =>
          $.replaceData()
            .muxHTTP(() => $probe, { maxQueue: 1 })
            .to(($) => $.pipe(askerOf(0), () => [connectProbeTLS])),
      }),
    ),
)

function choose(head) {
  var refusal = settleHead(head)
  var chosen = refusal ? { status: refusal } : probeOf($probes, head)
  $probe = chosen.probe
  $status = chosen.status
  if ($probe) askWorkload($probe, head)
}

var $target

var knock = pipeline(($) =>
  $.onStart((probe) => {
    $target = probe
    return new Data()
  }).connect(
    () => $target.target,
    () => ({ connectTimeout: $target.timeoutMs / 1000, onState: (outbound) => settle($target, outbound) }),
  ),
)

function settle(target, outbound) {
  if (outbound.state === 'connected') {
    target.answer(200)
    outbound.close()
  } else if (outbound.state === 'closed') {
    target.answer(503)
  }
}

// Whether the port takes connections.
function reach(probe) {
  return new Promise((resolve) => {
    knock.spawn({
      target: probe.target,
      timeoutMs: probe.timeoutMs,
      answer: (status) => resolve(new Message({ status })),
    })
  })
}
