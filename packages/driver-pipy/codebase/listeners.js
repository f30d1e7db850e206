// Where connections are taken. Listeners change with configurations; earlier ones stay open.

import { addOwn, removeOwn } from './own-listeners.js'
import { silenceSeconds } from './idle.js'
import { inboundConnection } from './inbound.js'
import { keepTemplate } from './kept-templates.js'
import { serveDNS } from './dns-proxy.js'
import { outboundConnection } from './outbound.js'
import { serveMetrics } from './admin.js'
import { serveProbes } from './probes.js'
import { state } from './state.js'

// Resolvers ask from another port each time, and are forgotten soon.
var DNS_IDLE_SECONDS = 10

// What is open: the text of what it is for, by address.
var open = {}

/** Opens what a configuration asks for, and closes what it does not. */
export function listenTo(config) {
  var wanted = {}
  var want = (address, kind, purpose) => {
    if (address !== undefined) wanted[address] = { kind, purpose, text: JSON.stringify([kind, purpose]) }
  }
  want(config.listen.inbound, 'inbound', null)
  want(config.listen.outbound, 'outbound', null)
  want(config.listen.outboundHttp, 'forward', null)
  want(config.listen.metrics, 'metrics', null)
  if (config.listen.dns) wanted['dns ' + config.listen.dns] = { kind: 'dns', purpose: null, text: 'dns' }
  config.served.forEach((port) => want(port.listen, 'bound-inbound', null))
  config.ingress.forEach((port) => want(port.listen, 'bound-inbound', null))
  config.called.forEach((service) => want(service.listen, 'bound-outbound', service.id))
  config.probes.forEach((probe) => {
    want(
      probe.listen,
      'probes',
      config.probes.filter((other) => other.listen === probe.listen),
    )
  })
  Object.entries(wanted).forEach((entry) => {
    if (open[entry[0]] === entry[1].text) return
    if (isForWorkload(entry[1].kind)) addOwn(entry[0])
    if (entry[1].kind === 'dns') pipy.listen(dnsAddress(entry[0]), 'udp', { idleTimeout: DNS_IDLE_SECONDS }, serveDNS)
    else pipy.listen(entry[0], optionsOf(entry[1].kind, config), templateOf(entry[0], entry[1]))
    open[entry[0]] = entry[1].text
  })
  Object.keys(open).forEach((address) => {
    if (wanted[address]) return
    if (address.startsWith('dns ')) pipy.listen(dnsAddress(address), 'udp', null)
    else pipy.listen(address, null)
    removeOwn(address)
    delete open[address]
  })
}

// A port may be one of TCP and of UDP.
function dnsAddress(key) {
  return key.substring(4)
}

function isForWorkload(kind) {
  return kind === 'outbound' || kind === 'bound-outbound' || kind === 'forward'
}

function optionsOf(kind, config) {
  var options = { idleTimeout: silenceSeconds(config) }
  if (kind === 'inbound' || kind === 'outbound') options.transparent = true
  return options
}

function templateOf(address, wanted) {
  switch (wanted.kind) {
    case 'inbound':
      return start(inboundConnection, (inbound) => describe(inbound, { port: dialledBy(inbound).port }))
    case 'bound-inbound':
      return start(inboundConnection, (inbound) => describe(inbound, { listen: address }))
    case 'outbound':
      return start(outboundConnection, (inbound) => describe(inbound, { dialled: dialledBy(inbound) }), true)
    case 'forward':
      return start(outboundConnection, (inbound) => describe(inbound, { isForward: true }))
    case 'bound-outbound':
      return start(outboundConnection, (inbound) => describe(inbound, { id: wanted.purpose }), true)
    case 'metrics':
      return serveMetrics
    default:
      return start(serveProbes, () => wanted.purpose)
  }
}

// Who is there, and where.
function describe(inbound, about) {
  about.source = inbound.remoteAddress
  about.sourcePort = inbound.remotePort
  about.local = inbound.localAddress + ':' + inbound.localPort
  about.socket = inbound.socket
  return about
}

// Pipy frees no cycles: a session refers to the variables of its connection, and these to what is known of it. A socket may be another connection's from now on.
function forget(about) {
  if (about.session) about.peer = about.session.peer
  about.session = undefined
  about.socket = undefined
}

var $about

// What goes out begins with empty data: a pipeline begins with its first event, and servers may be the first to speak.
function start(template, about, isOutbound) {
  return keepTemplate(
    pipeline(($) =>
      $.onStart((inbound) => {
        $about = about(inbound)
        return isOutbound ? new Data() : undefined
      })
        .pipe(template, () => [$about])
        .onEnd(() => void ($about.source !== undefined && forget($about))),
    ),
  )
}

// SO_ORIGINAL_DST of SOL_IP. Pipy's own fields are empty for the first connection of a listener. What was not redirected was meant for the listener itself.
function dialledBy(inbound) {
  var option = new Data()
  var error = inbound.socket.getRawOption(0, 80, option)
  var bytes = option.toArray()
  if (error !== 0 || bytes.length < 8) return { address: inbound.localAddress, port: inbound.localPort }
  return {
    address: bytes[4] + '.' + bytes[5] + '.' + bytes[6] + '.' + bytes[7],
    port: bytes[2] * 256 + bytes[3],
  }
}
