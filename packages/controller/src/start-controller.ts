import { setMaxListeners } from 'node:events'

import {
  compareProblems,
  formatProblem,
  healthServer,
  type Problem,
  SpecRules,
  type Broker,
  type LogLevel,
  type MeshConfig,
  type MeshConfigurator,
  SnapshotFeed,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import type { FastifyInstance } from 'fastify'

import { composeController, tokens } from './composition.js'
import { debugPages } from './debug-pages.js'
import { debugServer } from './http-servers.js'
import type { ControllerOptions, RunningController } from './options.js'
import { followMesh } from './policy-loop.js'

const SMI_VERSIONS = {
  HTTPRouteGroup: 'specs.smi-spec.io/v1alpha4',
  TCPRoute: 'specs.smi-spec.io/v1alpha4',
  TrafficTarget: 'access.smi-spec.io/v1alpha3',
  TrafficSplit: 'split.smi-spec.io/v1alpha4',
}

/**
 * Starts a controller: reads the mesh, computes policies, and starts the proxy control planes of the sidecar classes that MeshConfig allows.
 *
 * Resolves when everything listens.
 *
 * @throws OsmError if the sources can't be read at all, the default class has no driver, or a port is taken
 */
export async function startController(options: ControllerOptions): Promise<RunningController> {
  const { signal, logger } = options
  const failed = new AbortController()
  const scope = AbortSignal.any([signal, failed.signal])
  // Every loop and every connected proxy listens to it; each removes its listener when it ends.
  setMaxListeners(0, scope)

  const feed = new SnapshotFeed(options.sources)
  await feed.start(scope)
  const container = composeController(options, feed, scope)
  const configurator = container.get(tokens.configurator)
  const certificates = container.get(tokens.certificates)
  const endpoints = container.get(tokens.endpoints)
  const catalog = container.get(tokens.catalog)
  const metrics = container.get(tokens.metrics)
  const host = container.get(tokens.host)
  const runner = container.get(tokens.runner)
  configurator.start()
  metrics.collectProcessMetrics()

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
      onFault: (error) => {
        logger.error(
          { reason: error instanceof Error ? error.message : String(error) },
          'a recomputation of policies failed',
        )
      },
      onRecomputed: (milliseconds, changed) => {
        recomputation.observe({}, milliseconds / 1000)
        if (changed > 0) broadcasts.inc({})
      },
      signal: scope,
    }),
  ]
  followConfiguration(configurator, container.get(tokens.broker), logger)
  const rules = new SpecRules({ ...options.domains, locate: feed.locate.bind(feed) })
  const problems = (): readonly Problem[] => {
    const snapshot = feed.current()
    const found = [
      ...feed.problems(),
      ...(snapshot === undefined ? [] : rules.checkAll(snapshot)),
      ...configurator.problems(),
      ...catalog.problems(),
    ]
    // Two of them may find the same thing.
    return [...new Map(found.map((problem) => [formatProblem(problem), problem])).values()].sort(compareProblems)
  }
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
      debugPages({ host, catalog, certificates, configurator, problems, snapshot: () => feed.current() }),
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
