import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { type HealthProbe, type HealthProbes, OsmError } from '@osm-ts/driver-api'
import { askProbe } from '@osm-ts/driver-api/host'
import { loopbackServerOptions, MAX_PROBE_CONNECTIONS } from '@osm-ts/driver-api/toolkit'

const kinds = ['liveness', 'readiness', 'startup'] as const
/** A little longer than what is asked of the driver, so that the answer is the driver's. */
const MARGIN_MS = 500
const LONGEST_MS = 10_000

/**
 * Answers on loopback for whichever process of a driver runs: its probes change with each start, those of the contract do not.
 *
 * @param current - probes of the process that runs; undefined while none does, which is answered by 503
 * @throws OsmError with code `OSM_DRIVER_START`
 */
export async function relayHealth(current: () => HealthProbes | undefined, signal: AbortSignal): Promise<HealthProbes> {
  const server = createServer(loopbackServerOptions, (request, response) => {
    const answer = (code: number) => {
      response.writeHead(code, { 'content-type': 'text/plain' })
      response.end(code === 200 ? 'ok\n' : 'not now\n')
    }
    const kind = kinds.find((name) => request.url === `/${name}`)
    if (kind === undefined) {
      answer(404)
      return
    }
    const probes = current()
    // A process that is started again at this moment is alive as far as anybody outside can help it.
    if (probes === undefined) answer(kind === 'liveness' ? 200 : 503)
    else
      askProbe(bounded(probes[kind]), signal).then(
        (healthy) => answer(healthy ? 200 : 503),
        () => answer(503),
      )
  })
  server.maxConnections = MAX_PROBE_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new OsmError('OSM_DRIVER_START', 'the health of a driver cannot be relayed on loopback', { cause })),
    )
    server.listen(0, '127.0.0.1', resolve)
  })
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  const { port } = server.address() as AddressInfo // that of a server on TCP
  const probe = (kind: (typeof kinds)[number]): HealthProbe => ({
    path: `/${kind}`,
    port,
    http: true,
    timeoutMs: LONGEST_MS + MARGIN_MS,
    tcpSocket: false,
  })
  return { liveness: probe('liveness'), readiness: probe('readiness'), startup: probe('startup') }
}

function bounded(probe: HealthProbe | undefined): HealthProbe | undefined {
  return probe === undefined ? undefined : { ...probe, timeoutMs: Math.min(probe.timeoutMs, LONGEST_MS) }
}
