import { isIP } from 'node:net'

import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Status of a request that names another host: 421 Misdirected Request. */
export const MISDIRECTED = 421

/**
 * True if a request names this server by its `Host`: `localhost`, an address of loopback, the address that its connection came to, or one of the names.
 *
 * A web page can have a browser connect to any address under a name of the page's own (DNS rebinding), and then read the answers. The name is in `Host`.
 *
 * @param names - further names of the server, lower case
 */
export function isOwnHost(
  { headers, socket }: Pick<FastifyRequest, 'headers' | 'socket'>,
  names: ReadonlySet<string>,
): boolean {
  const host = hostOf(headers.host)
  if (host === undefined) return false
  if (host === 'localhost' || names.has(host)) return true
  return isIP(host) !== 0 && (isLoopback(host) || host === socket.localAddress?.replace(/^::ffff:/, ''))
}

/** Answers 421 to every request that does not name the server by its `Host`. */
export function requireOwnHost(app: FastifyInstance, names: readonly string[]): void {
  const known = new Set(names.map((name) => name.toLowerCase()))
  app.addHook('onRequest', async (request, reply) => {
    if (!isOwnHost(request, known)) return reply.code(MISDIRECTED).send({ error: misdirected })
    return undefined
  })
}

/** What a request that names another host is told. */
export const misdirected = 'the Host header names another server; use localhost and a port-forward'

/** The host of a `Host` header in lower case, without port, brackets and final dot; undefined if it is invalid. */
function hostOf(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+?)\.?)(?::\d+)?$/i.exec(header ?? '')
  return (match?.[1] ?? match?.[2])?.toLowerCase()
}

/** True for the address of a peer on this machine, a port-forward included. */
export function isLoopback(address: string | undefined): boolean {
  return address === '::1' || (address?.startsWith('127.') ?? false) || (address?.startsWith('::ffff:127.') ?? false)
}
