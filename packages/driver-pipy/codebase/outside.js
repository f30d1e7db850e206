// Destinations outside the mesh: what takes a connection of the workload, and whether that still holds when the configuration has changed.

import { closest } from './hosts.js'

/**
 * What takes a connection.
 *
 * @param conn - `{ dialled: { address, port }, isTLS, hello }`; `isTLS` is undefined until the workload has spoken
 * @returns {unknown} `{ kind }`: `rule` with the `rule` and what the handshake has `named`; `others` for what no rule is about; `unknown` if the workload has to
 *   speak first, `named` if its handshake has to be read; `http`; or `close`
 */
export function destinationOf(runtime, conn) {
  var rules = runtime.config.outside.filter((rule) => rule.port === conn.dialled.port)
  var of = (protocol) => rules.filter((rule) => rule.protocol === protocol)
  var tcp = closestRange(of('tcp'), conn.dialled.address)
  if (tcp) return { kind: 'rule', rule: tcp }
  var https = of('https')
  if (https.length > 0) {
    // The server name distinguishes destinations.
    if (conn.isTLS === undefined) return { kind: 'unknown' }
    if (conn.isTLS) return conn.hello ? byName(runtime, https, conn) : { kind: 'named' }
  }
  if (of('http').length > 0) return { kind: 'http' }
  var any = of('tcp').find((rule) => rule.ranges.length === 0)
  return any ? { kind: 'rule', rule: any } : others(runtime)
}

/**
 * True if a connection that is open would be taken as it was. Weights do not matter.
 *
 * @param call - what it was taken to: `{ upstream, gateway }`
 */
export function isStillOpen(runtime, conn, call) {
  var found = destinationOf(runtime, conn)
  if (found.kind === 'others') return call.upstream.id === 'passthrough' && isWay(runtime.othersWay, call.gateway)
  if (found.kind !== 'rule') return false
  return names(found.rule.shares, call.upstream) && isWay(found.rule.wayOut, call.gateway)
}

function isWay(way, gateway) {
  if (!way || !gateway) return !way && !gateway
  return way.mode === gateway.mode && names(way.shares, gateway.upstream)
}

function names(shares, upstream) {
  return shares.some((share) => share.upstream === upstream.id)
}

function byName(runtime, rules, conn) {
  var name = ('' + ((conn.hello.serverNames || [])[0] || '')).toLowerCase()
  var rule = closest(rules, (each) => each.hosts, name)
  if (!rule) return others(runtime)
  return { kind: 'rule', rule, named: name === '' ? undefined : name + ':' + rule.port }
}

function others(runtime) {
  return { kind: runtime.config.egress ? 'others' : 'close' }
}

function closestRange(rules, address) {
  var best = undefined
  var most = -1
  rules.forEach((rule) => {
    rule.ranges.forEach((range) => {
      if (range.contains(address) && range.bitmask > most) {
        most = range.bitmask
        best = rule
      }
    })
  })
  return best
}
