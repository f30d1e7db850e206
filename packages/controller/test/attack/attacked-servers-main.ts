import { performance } from 'node:perf_hooks'

import { createLogger, LoopWatch, Metrics } from '@osm-ts/core'
import { debugLimits, healthLimits, healthServer, listen, webhookLimits } from '@osm-ts/program'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'
import { FakeHost } from '@osm-ts/driver-testkit'

import { debugServer } from '../../src/debug-server.js'
import { objectWebhook } from '../../src/webhook/object-webhook.js'
import type { AttackedServers, ServerFigures } from './attacked-servers.js'

// The servers of a controller in their own process. Tells its parent where they listen, and its figures when it is asked.

const UUID = '6e8a0b0e-0000-4000-8000-000000000001'
const address = '0.0.0.0'
const SAMPLE_MS = 10

const logger = createLogger('attacked', 'disabled', { write: () => undefined })
const metrics = new Metrics()

async function startDriver(sidecarClass: 'envoy' | 'pipy', message: string) {
  const host = new FakeHost(sidecarClass)
  const { credential } = host.admit(UUID)
  const driver = sidecarClass === 'envoy' ? createEnvoyDriver() : createPipyDriver()
  await driver.start(host.context({ proxyServerAddress: address, metrics }))
  const port = Number(host.logs.find((line) => line.message === message)?.fields.port)
  return { host, port, credential }
}

const envoy = await startDriver('envoy', 'xDS server listens')
const pipy = await startDriver('pipy', 'repo server listens')
const key = envoy.host.controlPlane.issue('osm-validator', { dns: ['localhost'] })
const webhook = objectWebhook({
  reviewer: {
    // eslint-disable-next-line require-yield -- it takes one step
    *reviewInSteps() {
      return { denials: [], warnings: [] }
    },
  },
  key: { cert: key.chain, key: key.privateKey },
  metrics,
  logger,
})
const health = healthServer({
  alive: async () => true,
  ready: async () => true,
  metrics: async () => metrics.render(),
  version: { version: '', git_commit: '', build_date: '' },
})
const debug = debugServer(() => new Map(), new LoopWatch({ metrics, logger }), [])
const at = { host: address, port: 0 }
const ports = {
  xds: envoy.port,
  repo: pipy.port,
  webhook: await listen(webhook.app, at, { name: 'webhook', limits: webhookLimits, metrics, logger }),
  health: await listen(health, at, { name: 'health', limits: healthLimits, metrics, logger }),
  debug: await listen(debug, at, { name: 'debug', limits: debugLimits, metrics, logger }),
}

// A machine that is busy with other things keeps a process from its processors. What counts is the time that the process was at work while nothing else
// had its turn: never more than its threads have used.
let [last, cpu] = [performance.now(), process.cpuUsage()]
let [longestBlockMs, maxRssBytes] = [0, 0]
setInterval(() => {
  const [now, used] = [performance.now(), process.cpuUsage(cpu)]
  longestBlockMs = Math.max(longestBlockMs, Math.min(now - last, (used.user + used.system) / 1000))
  maxRssBytes = Math.max(maxRssBytes, process.memoryUsage.rss())
  ;[last, cpu] = [now, process.cpuUsage()]
}, SAMPLE_MS)

process.on('message', () => {
  const figures: ServerFigures = { longestBlockMs, maxRssBytes }
  process.send?.(figures)
  ;[longestBlockMs, maxRssBytes] = [0, process.memoryUsage.rss()]
})
const servers: AttackedServers = {
  ports,
  roots: envoy.host.controlPlane.certificate,
  pipyRoots: pipy.host.controlPlane.certificate,
  envoy: envoy.credential,
  pipy: pipy.credential,
}
process.send?.(servers)
