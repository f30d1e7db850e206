import { chmod, rm } from 'node:fs/promises'

import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { channelOptions } from './calls.js'
import { processError } from './failure.js'

/** Bytes that the path of a unix socket may have on every system. */
const MAX_SOCKET_PATH = 103

/** A gRPC server on a unix socket that only its owner may use. */
export interface SocketServer {
  readonly socket: string
  close(): Promise<void>
}

/**
 * Serves one service on a unix socket. A socket that a process has left is replaced.
 *
 * @throws OsmError with code `OSM_DRIVER_SOCKET`
 */
export async function serveSocket(
  socket: string,
  service: ServiceDefinition,
  implementation: UntypedServiceImplementation,
): Promise<SocketServer> {
  const length = Buffer.byteLength(socket)
  if (length > MAX_SOCKET_PATH)
    throw processError(
      'OSM_DRIVER_SOCKET',
      `the path of unix socket ${socket} has ${length} bytes, and may have ${MAX_SOCKET_PATH}; choose a shorter folder`,
    )
  const server = new Server(channelOptions)
  server.addService(service, implementation)
  try {
    await rm(socket, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      )
    })
    await chmod(socket, 0o600)
  } catch (cause) {
    server.forceShutdown()
    throw processError('OSM_DRIVER_SOCKET', `cannot listen on unix socket ${socket}: ${errorMessage(cause)}`)
  }
  return {
    socket,
    close: async () => {
      server.forceShutdown()
      await rm(socket, { force: true })
    },
  }
}
