import { createHash } from 'node:crypto'

import type { ProxyPart, SocketAddress } from '@osm-ts/driver-api/policy'

import type { Section } from './section.js'
import { socketName } from './words.js'

/** Takes connections at every address. */
const ANY = '0.0.0.0'

/**
 * Where a section takes connections: at its own address, or, without one, from the section that all redirected connections reach. That one hands them
 * over through a socket in the folder of the sidecar, which no one else may enter, and says in front of each where it was to go.
 */
export function bindWords(section: string, listen: SocketAddress | undefined): string {
  return listen === undefined ? `bind unix@${handOver(section)} mode 600 accept-proxy` : `bind ${socketName(listen)}`
}

/** A section that hands connections over to another one. */
export function wayTo(section: string): Section {
  return {
    head: `backend ${wayName(section)}`,
    lines: ['mode tcp', `server s1 unix@${handOver(section)} send-proxy-v2`],
  }
}

/** Name of the section that hands connections over to that one. */
export function wayName(section: string): string {
  return `via:${section}`
}

/** Paths of sockets have 107 characters at most, which names of sections do not fit into. */
function handOver(section: string): string {
  return `${createHash('sha256').update(section).digest('hex').slice(0, 24)}.sock`
}

/** Tells what leads back into the proxy other than to a port that it serves: it would call itself forever, or be asked for its administration. */
export function ownListeners({
  listen,
  outboundBindings,
  probes,
  addresses,
}: ProxyPart): (at: SocketAddress) => boolean {
  const { inbound, outbound, outboundHttp, metrics, admin } = listen
  const own = [
    ...[inbound, outbound, outboundHttp, metrics, admin].filter((each) => each !== undefined),
    ...[...outboundBindings, ...probes].map((binding) => binding.listen),
  ]
  return ({ address, port }) =>
    own.some((each) => {
      if (each.port !== port) return false
      return each.address === address || (each.address === ANY && (isLoopback(address) || addresses.includes(address)))
    })
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.')
}
