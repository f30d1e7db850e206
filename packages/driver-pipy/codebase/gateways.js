// Gateways: workloads of the mesh by which traffic leaves it, and which are told where it is to go.

import { isDestination } from './gateway-words.js'
import { isOwnAddress } from './own-listeners.js'
import { hasEndpoint, pickAmong } from './upstream.js'
import { state } from './state.js'
import { takeTurn } from './balance.js'

/**
 * Chooses the gateway of a call that has an address, where it is to leave through one; and which connections will do for it. False if there is none: then
 * nothing leaves.
 *
 * @param call - `{ way, address, source, key }`; no way, no gateway
 */
export function pickGateway(call) {
  call.gateway = undefined
  if (!call.way) return true
  if (!isDestination(call.address)) return false
  // Those that could not be reached are left out, while others are there.
  var gateway = pick(call, true) || pick(call, false)
  if (!gateway || isOwnAddress(gateway.address)) return false
  call.gateway = gateway
  call.key =
    call.key + ' ' + call.way.mode + ' ' + gateway.upstream.id + ' ' + gateway.address + state.runtime.identityKey
  return true
}

function pick(call, isCareful) {
  var upstreams = state.runtime.upstreams
  // Never in plaintext: there is no one to be sure of.
  var fits = (share) => {
    var each = upstreams[share.upstream]
    return Boolean(each && each.settings.tls) && hasEndpoint(each, isCareful)
  }
  var share = takeTurn(call.way.turns, fits)
  if (!share) return undefined
  var upstream = upstreams[share.upstream]
  var endpoint = pickAmong({ upstream, source: call.source }, isCareful)
  // Until it has answered, what goes wrong is its own fault.
  return { mode: call.way.mode, upstream, address: endpoint.address, destination: call.address, fault: 'gateway' }
}
