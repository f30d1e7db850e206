import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'

import type { StartedDriver } from '../driver.js'
import { OsmError } from '../errors.js'
import type { HealthProbe } from '../health.js'
import { untilAborted } from './async/on-abort.js'

/** Requests of probes are small, and few come at the same time. */
export const loopbackServerOptions = {
  headersTimeout: 2_000,
  requestTimeout: 2_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8 * 1024,
} as const
/** Connections that a server of probes on loopback has at most. */
export const MAX_PROBE_CONNECTIONS = 64

const PATH = '/healthz'
const PROBE_TIMEOUT_MS = 2_000
/** Shorter than the probe's own, so that it gets an answer. */
const CONNECT_TIMEOUT_MS = 1_000

/** The server of a proxy control plane. */
export interface HealthSubject {
  /** True while it takes connections. */
  readonly listening: boolean
  /** 1 to 65535. */
  readonly port: number
  /** Closes the server and its connections. May be called more than once; each call resolves when they are closed. */
  close(): Promise<void>
}

/**
 * Answers on loopback whether the server of a proxy control plane still takes connections, by making one. A process whose event loop is stuck answers nothing at all, which
 * counts as well. When the signal aborts, it closes the server and its own endpoint.
 *
 * @param name - of the server, for people, such as `xDS server`
 * @param host - IP address that the server listens on
 * @returns what `start` of a driver returns
 * @throws OsmError with code `OSM_DRIVER_START`
 */
export async function serveHealth(
  name: string,
  host: string,
  subject: HealthSubject,
  signal: AbortSignal,
): Promise<StartedDriver> {
  const server = createServer(loopbackServerOptions, (request, response) => {
    const answer = (code: number, text: string) => {
      response.writeHead(code, { 'content-type': 'text/plain' })
      response.end(`${text}\n`)
    }
    if (request.url !== PATH) {
      answer(404, 'not found')
      return
    }
    if (!subject.listening) {
      answer(503, `the ${name} does not listen`)
      return
    }
    accepts(connectable(host), subject.port).then(
      () => answer(200, 'ok'),
      () => answer(503, `the ${name} takes no connection`),
    )
  })
  server.maxConnections = MAX_PROBE_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new OsmError('OSM_DRIVER_START', `the health endpoint of the ${name} cannot listen on loopback`, { cause }),
      ),
    )
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const probe: HealthProbe = { path: PATH, port, http: true, timeoutMs: PROBE_TIMEOUT_MS, tcpSocket: false }
  const stopped = untilAborted(signal).then(async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    server.closeAllConnections()
    await Promise.all([closed, subject.close()])
  })
  return { probes: { liveness: probe, readiness: probe, startup: probe }, stopped }
}

async function accepts(host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS })
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.once('timeout', () => socket.destroy(new Error('timeout')))
    socket.once('error', reject)
  })
}

/** A wildcard address is not an address to connect to. */
function connectable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
