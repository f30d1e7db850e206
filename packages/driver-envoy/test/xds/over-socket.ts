import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { ControllerContext, Logger } from '@osm-ts/driver-api'
import { RemoteDriver, serveDriver, socketEndpoint } from '@osm-ts/driver-process'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import { createEnvoyDriver } from '../../src/driver.js'

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A context that reaches the given one over unix sockets, as a driver in another process has it. */
export async function overSocket(
  context: ControllerContext,
): Promise<{ readonly context: ControllerContext; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-driver-'))
  const socket = join(folder, 'driver.sock')
  let reached: ControllerContext | undefined
  const driver = {
    ...createEnvoyDriver(),
    start: async (remote: ControllerContext) => {
      reached = remote
      return { probes: {}, stopped: untilAborted(remote.signal) }
    },
  }
  const server = await serveDriver(socket, Promise.resolve({ driver, version: '' }))
  const end = new AbortController()
  const remote = await RemoteDriver.connect({
    name: 'envoy',
    open: socketEndpoint(socket, folder),
    logger: silent,
    random: Math.random,
    signal: end.signal,
  })
  await remote.start(context)
  if (reached === undefined) throw new Error('the driver was not started')
  return {
    context: reached,
    close: async () => {
      end.abort()
      await remote.stopped
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}
