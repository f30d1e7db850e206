// What the sidecar says of itself: ready, metrics, and the way to end it.

import { endWhenIdle } from './end.js'
import { clusterLines, configDump, listenerLines } from './config-pages.js'
import { exposition, statistics } from './metrics.js'
import { settleHead } from './http1-head.js'
import { state } from './state.js'
import { strictRequests } from './strict-requests.js'

/** Metrics for scrapers. */
export var serveMetrics = pipeline(($) =>
  $.pipe(strictRequests)
    .demuxHTTP()
    .to(($) =>
      $.replaceMessage((request) => {
        var refusal = settleHead(request.head)
        if (refusal) return new Message({ status: refusal })
        return request.head.path === '/stats/prometheus' || request.head.path === '/metrics'
          ? new Message({ headers: { 'content-type': 'text/plain; version=0.0.4' } }, exposition())
          : new Message({ status: 404 })
      }),
    ),
)

/** The administration interface; on loopback only. */
export var serveAdmin = pipeline(($) =>
  $.pipe(strictRequests)
    .demuxHTTP()
    .to(($) =>
      $.replaceMessage((request) => {
        var refusal = settleHead(request.head)
        if (refusal) return new Message({ status: refusal })
        var path = request.head.path
        var isReady = state.runtime && !state.isDraining
        if (path === '/ready') return new Message({ status: isReady ? 200 : 503 }, isReady ? 'LIVE\n' : 'waiting\n')
        if (path === '/stats/prometheus') return new Message({ status: 200 }, exposition())
        if (path === '/stats') return new Message({ status: 200 }, statistics())
        if (path === '/certs') return new Message({ headers: { 'content-type': 'application/json' } }, certificates())
        if (path === '/config_dump')
          return new Message({ headers: { 'content-type': 'application/json' } }, configDump(configOf(state)))
        if (path === '/listeners') return new Message({ status: 200 }, listenerLines(configOf(state)))
        if (path === '/clusters') return new Message({ status: 200 }, clusterLines(configOf(state)))
        // Callers that ask are told to go elsewhere; what comes all the same is served until the end.
        if (path === '/drain' && request.head.method === 'POST') {
          state.isDraining = true
          return new Message({ status: 200 }, 'OK\n')
        }
        if (path === '/quitquitquit' && request.head.method === 'POST') {
          endWhenIdle()
          return new Message({ status: 200 }, 'OK\n')
        }
        return new Message({ status: 404 })
      }),
    ),
)

function configOf(now) {
  return now.runtime ? now.runtime.config : undefined
}

// What everybody may see of the certificate, in the shape that Envoy has for it. A script sees no URIs, so the certificate is shown as it is.
function certificates() {
  var credentials = state.runtime ? state.runtime.config.credentials : undefined
  return JSON.stringify({ certificates: credentials ? [{ cert_chain: [{ pem: credentials.chain }] }] : [] })
}
