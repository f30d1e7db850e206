import { setMaxListeners } from 'node:events'

import {
  Broker,
  MeshCatalog,
  DriverHost,
  DriverRegistry,
  MeshCertificateManager,
  MeshConfigurator,
  Metrics,
  SnapshotEndpointsProvider,
  SnapshotFeed,
  standalonePreset,
  systemClock,
  type CertificateSettings,
  type LogLevel,
  type MeshConfig,
  type Snapshot,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import type { FastifyInstance } from 'fastify'

import { debugPages } from './debug-pages.js'
import { DriverRunner } from './driver-runner.js'
import { debugServer, healthServer } from './http-servers.js'
import { SnapshotInstances } from './instances.js'
import type { ControllerOptions, RunningController } from './options.js'
import { followMesh } from './policy-loop.js'

const SMI_VERSIONS = {
  HTTPRouteGroup: 'specs.smi-spec.io/v1alpha4',
  TCPRoute: 'specs.smi-spec.io/v1alpha4',
  TrafficTarget: 'access.smi-spec.io/v1alpha3',
  TrafficSplit: 'split.smi-spec.io/v1alpha4',
}
const HOUR_MS = 3_600_000

/**
 * Starts a controller: reads the mesh, computes policies, and starts the proxy control planes of the sidecar classes that MeshConfig allows.
 *
 * Resolves when everything listens.
 *
 * @throws OsmError if the sources can't be read at all, the default class has no driver, or a port is taken
 */
export async function startController(options: ControllerOptions): Promise<RunningController> {
  const { signal, logger, domains } = options
  const failed = new AbortController()
  const scope = AbortSignal.any([signal, failed.signal])
  // Every loop and every connected proxy listens to it; each removes its listener when it ends.
  setMaxListeners(0, scope)

  const feed = new SnapshotFeed(options.sources)
  const current = (): Snapshot | undefined => feed.current()
  const subscribe = feed.subscribe.bind(feed)
  await feed.start(scope)
  const configurator = new MeshConfigurator({
    meshName: options.meshName,
    osmNamespace: options.osmNamespace,
    domains,
    environment: options.environment,
    preset: standalonePreset,
    anyNamespace: true,
    current,
    subscribe,
    locate: (key, field) => feed.locate(key, field),
  })
  configurator.start()
  const certificates = new MeshCertificateManager({
    provider: options.certificateProvider,
    settings: () => certificateSettings(configurator.current()),
    domains,
    clock: systemClock,
    random: Math.random,
    signal: scope,
  })
  const endpoints = new SnapshotEndpointsProvider({
    id: 'folder',
    current: () => requireSnapshot(current()),
    subscribe,
  })
  const catalog = new MeshCatalog({
    meshName: options.meshName,
    domains,
    endpointsProviders: [endpoints],
    enrolment: { mode: 'all' },
    locate: (key, field) => feed.locate(key, field),
  })
  const instances = new SnapshotInstances({ current, subscribe })
  const metrics = new Metrics()
  metrics.collectProcessMetrics()
  const broker = new Broker()
  const host = new DriverHost({
    policies: catalog,
    instances,
    certificates,
    domains,
    configurator: configurator.forDrivers(),
    servicesOf: (account) => endpoints.listServicesForIdentity(account).items,
    connectionCap: () => configurator.current().sidecar.maxDataPlaneConnections,
    broker,
    metrics,
    logger: logger.child('driver-host'),
    osmNamespace: options.osmNamespace,
    serverNames: options.serverNames,
    now: () => systemClock.now(),
    setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs),
    signal: scope,
  })
  const registry = new DriverRegistry()
  for (const driver of options.drivers) registry.register(driver)
  const runner = new DriverRunner({
    registry,
    host,
    configurator,
    proxyServer: options.proxyServer,
    logger,
    signal: scope,
  })

  const recomputation = metrics.histogram(
    'osm_policy_recompute_seconds',
    'Time of one recomputation of policies',
    [],
    [0.001, 0.005, 0.02, 0.1, 0.5, 2],
  )
  const broadcasts = metrics.counter(
    'osm_proxy_broadcast_event_count',
    'Recomputations that changed the policy of some proxy',
    [],
  )
  const loops = [
    certificates.run(scope),
    host.run(),
    followMesh({
      catalog,
      endpoints,
      feed,
      configurator,
      certificates,
      onRecomputed: (milliseconds, changed) => {
        recomputation.observe({}, milliseconds / 1000)
        if (changed > 0) broadcasts.inc({})
      },
      signal: scope,
    }),
  ]
  followConfiguration(configurator, broker, logger)
  const problems = () => [...feed.problems(), ...configurator.problems(), ...catalog.problems()]
  const servers: FastifyInstance[] = []
  try {
    await runner.start()
    const health = healthServer({
      alive: () => runner.alive(),
      ready: async () => catalog.ready && (await runner.ready()),
      metrics: () => metrics.render(),
      version: options.version,
      smiVersions: SMI_VERSIONS,
    })
    const debug = debugServer(() =>
      debugPages({ host, catalog, certificates, configurator, problems, snapshot: current }),
    )
    servers.push(health, debug)
    const healthPort = await listen(health, options.ports.health, 'health')
    const debugPort = await listen(debug, options.ports.debug, 'debug')
    const stopped = stopWith(scope, servers, loops)
    logger.info({ healthPort, debugPort, classes: runner.classes() }, 'controller started')
    return { debugPort, healthPort, proxyClasses: runner.classes(), stopped }
  } catch (error) {
    failed.abort()
    await Promise.allSettled([...servers.map((server) => server.close()), ...loops])
    throw error
  }
}

/** Loops end with the signal; what one of them throws ends the controller, which its supervisor restarts. */
async function stopWith(
  signal: AbortSignal,
  servers: readonly FastifyInstance[],
  loops: readonly Promise<void>[],
): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    await Promise.race([aborted, ...loops.map((loop) => loop.then(() => aborted))])
  } finally {
    await Promise.allSettled(servers.map((server) => server.close()))
  }
  await Promise.all(loops)
}

function followConfiguration(
  configurator: MeshConfigurator,
  broker: Broker,
  logger: ControllerOptions['logger'],
): void {
  const setLevel = (config: MeshConfig): void => {
    logger.setLevel(levelOf(config.observability.osmLogLevel))
  }
  setLevel(configurator.current())
  configurator.subscribe(({ after }) => {
    setLevel(after)
    broker.publish('meshconfig', {})
  })
}

/** OSM's `panic` is the last level before silence, which is what `fatal` is here. */
function levelOf(level: MeshConfig['observability']['osmLogLevel']): LogLevel {
  return level === 'panic' ? 'fatal' : level
}

function certificateSettings({ certificate }: MeshConfig): CertificateSettings {
  return {
    serviceValidityMs: certificate.serviceCertValidityMs,
    proxyValidityMs: 24 * HOUR_MS * 3652,
    controlPlaneValidityMs: 24 * HOUR_MS * 30,
    key: certificate.key,
  }
}

async function listen(server: FastifyInstance, port: number, what: string): Promise<number> {
  try {
    await server.listen({ host: '127.0.0.1', port })
  } catch (cause) {
    throw new OsmError(
      'OSM_CONTROLLER_LISTEN',
      `the ${what} server cannot listen on 127.0.0.1:${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    )
  }
  const [address] = server.addresses()
  return typeof address === 'object' ? address.port : port
}

function requireSnapshot(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new RangeError('asked for endpoints before the sources were read')
  return snapshot
}
