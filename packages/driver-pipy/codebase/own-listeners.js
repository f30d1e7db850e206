// Where this sidecar takes connections of its workload. It must not call itself there: each call would be the next one's reason.

import { splitAuthority } from './hosts.js'

var own = {}

/** Remembers an address that connections of the workload are taken at. */
export function addOwn(address) {
  own[address] = splitAuthority(address)
}

/** Forgets an address. */
export function removeOwn(address) {
  delete own[address]
}

/** True if a connection to a host would return. Other addresses of this machine than loopback are redirected to the listener for callers. */
export function isOwn(host, port) {
  return Object.values(own).some(
    (listener) => listener.port === port && (listener.host === host || (listener.host === '0.0.0.0' && isHere(host))),
  )
}

/** True if a connection to `host:port` would return. */
export function isOwnAddress(address) {
  var parts = splitAuthority(address)
  return isOwn(parts.host, parts.port)
}

function isHere(host) {
  return host === 'localhost' || host === '0.0.0.0' || host.startsWith('127.')
}
