import { setMaxListeners } from 'node:events'

import type { ServerWritableStream } from '@grpc/grpc-js'
import { type DebugHandlers, type DebugRequest, type Driver, type InjectorContext, OsmError } from '@osm-ts/driver-api'

import { answer, connectTo } from '../wire/calls.js'
import { toServiceError } from '../wire/failure.js'
import { driverService, type Message } from '../wire/services.js'
import { serveSocket, type SocketServer } from '../wire/server.js'
import { readStartContext } from '../wire/values.js'
import { remoteContext } from './remote-context.js'

type StartCall = ServerWritableStream<Message<'startRequest'>, Partial<Message<'startEvent'>>>

/** A driver to serve, once it is there. */
export interface ServedDriver {
  readonly driver: Driver
  /** For people. */
  readonly version: string
}

/**
 * Serves a driver on a unix socket, for a host in another process. The socket listens before the driver is loaded, so that the host learns why it is not.
 *
 * @param load - rejects with what keeps the driver from being one
 * @throws OsmError with code `OSM_DRIVER_SOCKET`
 */
export async function serveDriver(socket: string, load: Promise<ServedDriver>): Promise<SocketServer> {
  // Anyone who asks is told; that no one has asked yet is no fault of its own.
  load.catch(() => undefined)
  const pages = new Map<string, Parameters<DebugHandlers['register']>[1]>()
  let running: { readonly call: StartCall; readonly over: Promise<void> } | undefined
  const start = (call: StartCall): void => {
    if (running !== undefined && !running.call.cancelled) {
      call.emit('error', toServiceError(new OsmError('OSM_DRIVER_START', 'the driver was started already')))
      return
    }
    // What was told to stop has the time to.
    const before = running?.over
    const run = async (): Promise<void> => {
      await before
      await runDriver(load, call, pages)
    }
    const mine = { call, over: run() }
    running = mine
    void mine.over.then(() => {
      if (running === mine) running = undefined
    })
  }
  return serveSocket(socket, driverService, {
    Describe: answer(async () => describe(await load)),
    Patch: answer(async (request: Message<'patchRequest'>, signal) => {
      const { driver } = await load
      // The host sends what the contract says; its signal is that of the call.
      const context = { ...(deepFreeze(JSON.parse(request.context)) as Omit<InjectorContext, 'signal'>), signal }
      return { patch: JSON.stringify(await driver.patch(context)) }
    }),
    Start: start,
    Debug: answer(async (request: DebugRequest) => {
      const response = await pages.get(request.path)?.(request)
      return response ?? { status: 404, contentType: 'text/plain', body: 'the driver does not have this page now\n' }
    }),
    Ping: answer(async () => ({})),
  })
}

/** The context, the pages and the signal of one start; ends with the call. */
async function runDriver(
  load: Promise<ServedDriver>,
  call: StartCall,
  pages: Map<string, Parameters<DebugHandlers['register']>[1]>,
): Promise<void> {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const client = connectTo(call.request.hostSocket)
  const cancelled = new Promise<void>((resolve) => {
    const end = (): void => {
      stop.abort()
      resolve()
    }
    call.on('cancelled', end)
    if (call.cancelled) end()
  })
  try {
    const { driver } = await load
    const ownEnd = new AbortController()
    const { probes, stopped } = await driver.start(
      remoteContext({
        client,
        data: readStartContext(call.request.context),
        pages,
        cancel: (reason) => {
          ownEnd.abort()
          call.write({ cancelled: reason.message === '' ? 'no reason given' : reason.message })
        },
        signal: stop.signal,
      }),
    )
    call.write({ probes })
    await Promise.race([cancelled, stopped])
    // The host answers `cancel` by cancelling the call.
    if (ownEnd.signal.aborted) await cancelled
    if (!stop.signal.aborted)
      throw new OsmError('OSM_DRIVER_STOPPED', `driver ${driver.name} ended by itself`, {
        details: { driver: driver.name },
      })
    // The next start waits for it.
    await stopped
  } catch (error) {
    call.emit('error', toServiceError(error))
  } finally {
    stop.abort()
    client.close()
    pages.clear()
  }
}

function describe({ driver, version }: ServedDriver): Message<'declaration'> {
  return {
    name: driver.name,
    contract: driver.contract,
    capabilities: driver.capabilities,
    configSchema: JSON.stringify(driver.configSchema),
    version,
    oldestProxyVersion: driver.oldestProxyVersion ?? '',
  }
}

/** As the contract has it: a context is not the driver's to change. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
