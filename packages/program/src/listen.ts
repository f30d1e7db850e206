import { OsmError } from '@osm-ts/driver-api'
import { errorMessage, guardServer, type GuardServerOptions, listenBacklog } from '@osm-ts/driver-api/toolkit'
import type { FastifyInstance } from 'fastify'

import type { ProgramErrorCode } from './error-codes.js'

/** Where a server listens. */
export interface ListenAddress {
  /** Empty: all addresses of the machine, IPv6 and IPv4. */
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

/** Which server listens, and the limits of its connections. */
export interface ListenOptions extends Omit<GuardServerOptions, 'server'> {
  /** For errors, metrics and the log, such as `health`. */
  readonly name: string
}

/**
 * Makes a server listen, guards its connections, and says on which port it does.
 *
 * @throws OsmError with code `OSM_PROGRAM_LISTEN`
 */
export async function listen(server: FastifyInstance, address: ListenAddress, options: ListenOptions): Promise<number> {
  const guard = guardServer(server.server, { ...options, server: options.name })
  server.addHook('preClose', async () => guard.stop())
  // `::` takes IPv4 as well where the kernel has IPv6, and can't be bound where it has not.
  const hosts = address.host === '' ? ['::', '0.0.0.0'] : [address.host]
  let failure: unknown
  for (const host of hosts) {
    try {
      await server.listen({ host, port: address.port, backlog: listenBacklog })
      const [bound] = server.addresses()
      return typeof bound === 'object' ? bound.port : address.port
    } catch (error) {
      failure = error
      if (!isNoSuchAddress(error)) break
    }
  }
  const reason = errorMessage(failure)
  throw new OsmError<ProgramErrorCode>(
    'OSM_PROGRAM_LISTEN',
    `the ${options.name} server cannot listen on port ${address.port} of ${address.host === '' ? 'all addresses' : address.host}: ${reason}`,
    { cause: failure },
  )
}

function isNoSuchAddress(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL')
}
