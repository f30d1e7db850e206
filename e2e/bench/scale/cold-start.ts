import { until } from '@osm-ts/driver-api/toolkit'

import { isListening } from '../local-api.js'
import { round, type Summary, summarize } from '../statistics.js'
import { issueCertificates } from './certificates.js'
import { Controller } from './controller.js'
import { scaleProxies } from './mesh.js'
import { serveMesh } from './mesh-server.js'
import { cpuSecondsOf } from './process-figures.js'
import { Proxies } from './proxies.js'
import { type ScaleMesh, step } from './scale-environment.js'

/** What is measured. */
export interface ColdStartOptions extends ScaleMesh {
  /** Starts that are measured, after one that makes the roots. */
  readonly starts: number
}

/** From the start of a controller's process; milliseconds and milliseconds of its processor time. */
export interface ColdStart {
  readonly services: number
  readonly pods: number
  /** Until a proxy has acknowledged everything that has tried to connect since. */
  readonly configured: { readonly ms: Summary; readonly cpuMs: Summary }
  /** Until it reports that it is ready. */
  readonly ready: { readonly ms: Summary; readonly cpuMs: Summary }
}

const CONNECT_MS = 120_000
const RETRIES = 100
const RETRY_MS = 5

interface Moment {
  readonly ms: number
  readonly cpuMs: number
}

/** Starts a controller several times on one mesh, with one proxy that waits for it. */
export async function measureColdStart(options: ColdStartOptions): Promise<ColdStart> {
  const { services, replicas, starts, programs } = options
  const size = { services, replicas, hubs: [], permissive: false, connected: 1 }
  const { api, start, proxyPort: port, close } = await serveMesh(size, programs)
  const proxies = await Proxies.start(programs.proxies)
  try {
    // It makes the roots, and has the program read from the disk.
    const { controller: first } = await Controller.start(start)
    await first.stop()
    const certificates = await issueCertificates(await api.api(), scaleProxies(size), AbortSignal.timeout(60_000))
    const server = { port, serverName: certificates.serverName, roots: certificates.controlPlaneRoots }
    const configured: Moment[] = []
    const ready: Moment[] = []
    for (let n = 1; n <= starts; n += 1) {
      await step(`start ${n}`, async () => {
        const controller = await Controller.spawn(start)
        try {
          const moment = async (): Promise<Moment> => ({
            ms: controller.ageMs,
            cpuMs: (await cpuSecondsOf(controller.pid)) * 1000,
          })
          const proxy = untilListening(port)
            .then(() => proxies.connect(server, certificates.proxies, CONNECT_MS, { retries: RETRIES }))
            .then(moment)
          const [atConfigured, atReady] = await Promise.all([proxy, controller.ready().then(moment)])
          configured.push(atConfigured)
          ready.push(atReady)
          await proxies.disconnect()
        } finally {
          await controller.stop()
        }
      })
    }
    return {
      services,
      pods: services * replicas,
      configured: summaries(configured),
      ready: summaries(ready),
    }
  } finally {
    await proxies.close()
    await close()
  }
}

function summaries(moments: readonly Moment[]): ColdStart['ready'] {
  return {
    ms: summarize(moments.map(({ ms }) => ms)),
    cpuMs: summarize(moments.map(({ cpuMs }) => round(cpuMs))),
  }
}

/** Tries again and again, as proxies do, and more often. */
async function untilListening(port: number): Promise<void> {
  const options = { timeoutMs: CONNECT_MS, everyMs: RETRY_MS }
  await until(() => isListening({ host: '127.0.0.1', port }), 'a controller that listens', options)
}
