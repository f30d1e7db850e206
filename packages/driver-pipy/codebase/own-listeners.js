// Where this sidecar takes connections of its workload. It must not call itself there: each call would be the next one's reason.

import { splitAuthority } from './hosts.js'
import { makeMemo, recall } from './memo.js'

var own = {}
// What has been found of addresses, which are much the same from call to call.
var known = makeMemo(1000, 256)

/** Remembers an address that connections of the workload are taken at. */
export function addOwn(address) {
  own[address] = splitAuthority(address)
  known = makeMemo(1000, 256)
}

/** Forgets an address. */
export function removeOwn(address) {
  delete own[address]
  known = makeMemo(1000, 256)
}

/** True if a connection to a host would return. Other addresses of this machine than loopback are redirected to the listener for callers. */
export function isOwn(host, port) {
  return Object.values(own).some(
    (listener) => listener.port === port && (listener.host === host || (listener.host === '0.0.0.0' && isHere(host))),
  )
}

/** True if a connection to `host:port` would return. */
export function isOwnAddress(address) {
  return recall(known, address, leadsBack)
}

function leadsBack(address) {
  var parts = splitAuthority(address)
  return isOwn(parts.host, parts.port)
}

function isHere(host) {
  return host === 'localhost' || host === '0.0.0.0' || host.startsWith('127.')
}
