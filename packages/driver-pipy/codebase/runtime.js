// Makes of a configuration what requests and connections are looked up in.

import { makeBreaker } from './breaker.js'
import { makeBucket } from './bucket.js'
import { makeNames } from './dns-message.js'
import { nameserversOf } from './dns-proxy.js'
import { makePool } from './connections.js'
import { makeChecks, settleChecks } from './health-checks.js'
import { makeTurns } from './balance.js'
import { looksAtPathsOnly } from './match.js'
import { makeMemo } from './memo.js'
import { makeDecisions } from './ordinary-requests.js'
import { loadPlugins } from './plugins.js'
import { makeRecorder } from './remote-log.js'
import { changesMessages } from './route-changes.js'
import { makeReporter } from './spans.js'
import { readFurther } from './further.js'
import { shownCertificate } from './certificates.js'

/**
 * Everything that one configuration says, ready for use. What counts (turns, buckets, breakers, open requests) goes on from the runtime before, where the
 * settings are the same.
 *
 * @param ownKey - PEM; goes with a certificate that comes without a key
 * @throws whatever is wrong with certificates and keys
 */
export function makeRuntime(config, ownKey, before) {
  var now = Date.now()
  var credentials = config.credentials
  var runtime = {
    config,
    revision: config.revision,
    certificate: credentials ? shownCertificate(credentials.chain, credentials.key || ownKey) : null,
    further: readFurther(credentials),
    trusted: config.trust.roots.map((root) => new crypto.Certificate(root)),
    trustKey: JSON.stringify(config.trust),
    // Pooled connections with another certificate, or verified by other roots, are not used any more.
    identityKey: credentials ? credentials.chain + JSON.stringify(config.trust) : '',
    servedById: {},
    calledById: {},
    calledByAddress: {},
    calledByHost: {},
    upstreams: {},
    shares: {},
    passthrough: {},
    ways: {},
    othersWay: undefined,
    plugins: loadPlugins(config.plugins),
    counted: {},
    ordinary: makeDecisions(),
  }
  var kept = (key, settings, make) => keep(runtime, before, key, settings, make)
  ;['dialled', 'named'].forEach((kind) => {
    runtime.passthrough[kind] = kept('passthrough ' + kind, null, () => passthrough(kind))
  })
  if (config.remoteLog) {
    runtime.records = kept('remote log', config.remoteLog, () => makeRecorder(config.remoteLog))
  }
  if (config.dns) {
    runtime.names = kept('names', config.dns.records, () => makeNames(config.dns.records))
    runtime.nameservers = nameserversOf(config)
  }
  if (config.tracing) runtime.spans = kept('spans', config.tracing, () => makeReporter(config.tracing))
  config.served.forEach((port) => {
    runtime.servedById[port.id] = port
    if (port.rules.kind === 'http' && looksAtPathsOnly(port.rules.allow)) port.decisions = makeMemo(500, 256)
    addLimits(kept, 'served ' + port.id, port, port.rules.limits || [], now)
  })
  config.ingress.forEach((port) => {
    port.ranges = port.sources.map((source) => new Netmask(source))
    addLimits(kept, 'ingress ' + port.id, port, port.limits, now)
  })
  config.called.forEach((service) => {
    runtime.calledById[service.id] = service
    service.addresses.forEach((address) => void (runtime.calledByAddress[address] = service))
    if (service.routes && looksAtPathsOnly(service.routes)) service.decisions = makeMemo(500, 256)
    if (service.routes)
      service.hosts.forEach((host) => void (runtime.calledByHost[host + ':' + service.port] = service))
    addShares(kept, service)
  })
  Object.entries(config.ways || {}).forEach((entry) => {
    var way = entry[1]
    var turns = kept('way ' + entry[0], way.shares, () => makeTurns(way.shares))
    runtime.ways[entry[0]] = { mode: way.mode, shares: way.shares, turns }
  })
  runtime.othersWay = wayOf(runtime, config.othersWay)
  config.outside.forEach((rule) => {
    rule.wayOut = wayOf(runtime, rule.way)
    rule.ranges = rule.cidrs.map((range) => new Netmask(range))
    addShares(kept, rule)
  })
  Object.entries(config.upstreams).forEach((entry) => {
    var id = entry[0]
    var settings = entry[1]
    var addresses = settings.addresses
    runtime.upstreams[id] = {
      id,
      settings,
      turns: (addresses.priorities || []).map((list, level) =>
        kept('turns ' + id + ' ' + level, list, () => makeTurns(list)),
      ),
      breaker: settings.breaker
        ? kept('breaker ' + id, settings.breaker, () => makeBreaker(settings.breaker, now))
        : undefined,
      load: kept('load ' + id, null, makeLoad),
      health: kept('health ' + id, null, () => ({})),
      pool: kept('pool ' + id, null, () => makePool(endLink)),
      checks: settings.check ? kept('checks ' + id, settings.check, makeChecks) : undefined,
    }
    if (settings.check) settleChecks(runtime.upstreams[id].checks, addressesOf(addresses), () => now + spread(settings))
  })
  return runtime
}

function addressesOf(addresses) {
  return (addresses.priorities || []).flatMap((list) => list.map((endpoint) => endpoint.address))
}

// All sidecars hear of an endpoint at the same time.
function spread(settings) {
  return Math.random() * Math.min(settings.check.intervalMs, 1000)
}

// What is to leave through gateways leaves no other way.
function wayOf(runtime, name) {
  if (name !== undefined && !runtime.ways[name]) throw new Error('there are no gateways ' + name)
  return name === undefined ? undefined : runtime.ways[name]
}

function makeLoad() {
  return { requests: 0, retries: 0, byAddress: {} }
}

// Destinations that no rule names, while egress is open to all.
function passthrough(kind) {
  return {
    id: 'passthrough',
    settings: { http2: false, addresses: { kind }, connectTimeoutMs: 5000, balancing: 'round-robin' },
    turns: [],
    load: makeLoad(),
    health: {},
    pool: makePool(endLink),
  }
}

// Not at once: what requests it may stand on events of that very connection.
function endLink(link) {
  new Timeout(0).wait().then(() => link.cut && link.cut())
}

// Takes over from the runtime before what was made of equal settings.
function keep(runtime, before, key, settings, make) {
  var text = JSON.stringify(settings)
  var old = before ? before.counted[key] : undefined
  var entry = old && old.text === text ? old : { text, value: make() }
  runtime.counted[key] = entry
  return entry.value
}

function addLimits(kept, name, port, limits, now) {
  var bucketOf = (key, settings) =>
    settings ? kept(name + ' ' + key, settings, () => makeBucket(settings, now)) : undefined
  port.connectionBucket = bucketOf('connections', port.connectionLimit)
  port.requestBucket = bucketOf('requests', port.requestLimit ? port.requestLimit.bucket : undefined)
  limits.forEach((entry, index) => {
    entry.bucket = bucketOf('route ' + index, entry.limit ? entry.limit.bucket : undefined)
  })
}

function addShares(kept, part) {
  if (part.shares) part.turns = kept('shares ' + part.id, part.shares, () => makeTurns(part.shares))
  ;(part.routes || []).forEach((route, index) => {
    route.turns = kept('shares ' + part.id + ' ' + index, route.shares, () => makeTurns(route.shares))
    route.isChanged = changesMessages(route)
  })
}
