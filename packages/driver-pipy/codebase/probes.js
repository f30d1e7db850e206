// Probes of the workload, answered without TLS: a kubelet has no certificate.

var $probes
var $probe

/** Serves the probes of one address. One without a path goes through as it is. */
export var serveProbes = pipeline(($) =>
  $.onStart((probes) => {
    $probes = probes
    $probe = probes.find((probe) => probe.path === '')
  }).pipe(() => ($probe ? 'through' : 'http'), {
    through: ($) => $.connect(() => $probe.target, { connectTimeout: 5 }),
    http: ($) =>
      $.demuxHTTP().to(($) =>
        $.handleMessageStart((start) => rewrite(start.head)).pipe(() => ($probe ? $probe.type : 'none'), {
          none: ($) => $.replaceData().replaceMessage(() => new Message({ status: 404 })),
          tcp: ($) => $.replaceMessage(() => reach($probe)),
          http: ($) =>
            $.muxHTTP(() => $probe, { maxQueue: 1 }).to(($) =>
              $.connect(
                () => $probe.target,
                () => ({ connectTimeout: $probe.timeoutMs / 1000, readTimeout: $probe.timeoutMs / 1000 }),
              ),
            ),
          // Whoever asks speaks gRPC itself.
          grpc: ($) =>
            $.muxHTTP(() => $probe, { version: 2 }).to(($) =>
              $.connect(
                () => $probe.target,
                () => ({ connectTimeout: $probe.timeoutMs / 1000, readTimeout: $probe.timeoutMs / 1000 }),
              ),
            ),
          https: ($) =>
            $.muxHTTP(() => $probe, { maxQueue: 1 }).to(($) =>
              // The certificate of the workload is no business of a kubelet's either.
              $.connectTLS({ trusted: [] }).to(($) =>
                $.connect(
                  () => $probe.target,
                  () => ({ connectTimeout: $probe.timeoutMs / 1000, readTimeout: $probe.timeoutMs / 1000 }),
                ),
              ),
            ),
        }),
      ),
  }),
)

// What the workload is asked in the place of what was asked.
function rewrite(head) {
  var cut = head.path.indexOf('?')
  var path = cut < 0 ? head.path : head.path.substring(0, cut)
  $probe = $probes.find((probe) => probe.path === path)
  if (!$probe) return
  if ($probe.type === 'grpc') return
  head.path = $probe.targetPath
  $probe.headers.forEach((header) => void (head.headers[header[0].toLowerCase()] = header[1]))
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
