// Counts of the traffic that leaves the mesh through gateways, on the side of those that leave and on that of a gateway.

import { addTo, countsOf, makeUpstreamCounts } from './upstream-metrics.js'
import { escapeLabel } from './exposition.js'
import { state } from './state.js'

var TUNNELS = 'sidecar_egress_gateway_tunnels_total'

var tunnels = makeUpstreamCounts()
var arrivals = {}

/** Counts a tunnel that was `opened`, `refused` by its gateway, or `failed`, since the gateway gave no answer that can be read. */
export function countTunnel(gateway, result) {
  var counts = countsOf(tunnels, gateway.upstream.id, (id) => Boolean(state.runtime.upstreams[id]))
  addTo(counts.numbers, '",mode="' + gateway.mode + '",result="' + result, 1)
}

/** Counts a connection to a port of the workload that speaks no HTTP, such as that of a gateway. */
export function countArrival(id) {
  addTo(arrivals, id, 1)
}

/** What Prometheus is told. */
export function tunnelLines() {
  var ids = Object.keys(tunnels.byId).sort()
  if (ids.length === 0) return []
  return ['# TYPE ' + TUNNELS + ' counter'].concat(
    ids.flatMap((id) => {
      var numbers = tunnels.byId[id].numbers
      var name = TUNNELS + '{sidecar_cluster_name="' + escapeLabel(id)
      return Object.keys(numbers)
        .sort()
        .map((labels) => name + labels + '"} ' + numbers[labels])
    }),
  )
}

/** Statistics, by the names that Envoy has for them. */
export function arrivalLines() {
  return Object.keys(arrivals)
    .sort()
    .map((id) => 'cluster.' + id + '|local.upstream_cx_total: ' + arrivals[id])
}
