import { setMaxListeners } from 'node:events'

import {
  type CertificateProvider,
  countErrorCodes,
  driverStates,
  JoinedRootsProvider,
  LoopWatch,
  namedOutsideServices,
  SnapshotFeed,
  SpecRules,
  SpiffeBundle,
  systemClock,
  UnsupportedFields,
  wantedSecrets,
} from '@osm-ts/core'
import { healthLimits, healthServer, listen } from '@osm-ts/program'
import { hostDrivers } from '@osm-ts/driver-process'
import type { FastifyInstance } from 'fastify'

import { measureRoots } from './certificates/root-metrics.js'
import { composeController } from './composition.js'
import { DebugSwitch } from './debug-switch.js'
import { connectedSidecars, debugPages, type DebugSources } from './debug-pages.js'
import { EndpointsPlugins, type EndpointsPluginsOptions } from './endpoints-plugins.js'
import { followConfiguration } from './follow-configuration.js'
import { type DebugPage, debugServer } from './debug-server.js'
import type {
  ControllerOptions,
  ControllerParts,
  OpenedProvider,
  RunningAttachment,
  RunningController,
  WorkloadApiOptions,
} from './options.js'
import { followNamed } from './follow-named.js'
import { logProblems } from './log-problems.js'
import { observedProvider } from './observed-provider.js'
import { followMesh } from './policy-loop.js'
import { meshMetrics } from './mesh-metrics.js'
import { ProblemWatch } from './problem-watch.js'
import { findProblems } from './problems.js'
import { smiVersions } from './kubernetes/smi-discovery.js'
import { subscribeAll } from './subscribe-all.js'
import { drained, joinLoops, unlessAborted } from './supervision.js'
import { WorkloadApiRoots } from './workload-api/workload-api-roots.js'

const noPlugins: EndpointsPluginsOptions = {
  entries: [],
  programFolder: '',
  environment: {},
  allowLoopback: false,
  refusedAddresses: [],
  resources: {
    open: async () => ({ list: () => [], subscribe: () => () => undefined }),
    problems: () => [],
  },
}

/** What a controller that is about to start can't say yet. */
interface Health {
  alive: () => Promise<boolean>
  ready: () => Promise<boolean>
  bundle?: SpiffeBundle
}

/**
 * Starts a controller: reads the mesh, computes policies, and starts the proxy control planes of the sidecar classes that MeshConfig allows.
 *
 * Health is answered from the beginning: a controller whose sources can't be read yet is alive and not ready. Resolves when everything listens.
 *
 * @throws OsmError if the sources can't be read at all, the default class has no driver, or a port is taken; the reason of the signal if it aborts first
 */
export async function startController(options: ControllerOptions): Promise<RunningController> {
  const failed = new AbortController()
  const scope = AbortSignal.any([options.signal, failed.signal])
  // Every loop and every connected proxy listens to it; each removes its listener when it ends.
  setMaxListeners(0, scope)
  const loops: Promise<void>[] = []
  const servers: FastifyInstance[] = []
  try {
    return await start(options, scope, () => failed.abort(), loops, servers)
  } catch (error) {
    failed.abort()
    await Promise.allSettled([...servers.map((server) => server.close()), ...loops])
    throw error
  }
}

async function start(
  options: ControllerOptions,
  signal: AbortSignal,
  fail: () => void,
  loops: Promise<void>[],
  servers: FastifyInstance[],
): Promise<RunningController> {
  const { logger, metrics, bindAddress, ports } = options
  metrics.collectProcessMetrics()
  countErrorCodes(logger, metrics)
  const loop = new LoopWatch({ metrics, logger })
  loop.start(signal)
  const health: Health = { alive: async () => true, ready: async () => false }
  const server = healthServer({
    alive: () => health.alive(),
    ready: async () => !signal.aborted && (await health.ready()),
    metrics: () => metrics.render(),
    version: options.version,
    smiVersions,
    trustBundle: () => health.bundle?.current(),
  })
  servers.push(server)
  const healthPort = await listen(
    server,
    { host: bindAddress, port: ports.health },
    { name: 'health', limits: healthLimits, metrics, logger },
  )

  const feed = new SnapshotFeed(options.sources)
  await unlessAborted(feed.start(signal), signal)
  const opened = await unlessAborted(openProvider(options, feed, signal), signal)
  loops.push(opened.stopped)
  const otherRoots = options.workloadApi && workloadApiRoots(options, options.workloadApi, opened.provider)
  if (otherRoots !== undefined) {
    loops.push(otherRoots.run(signal))
    await unlessAborted(otherRoots.opened, signal)
  }
  const provider = observedProvider(
    otherRoots === undefined ? opened.provider : new JoinedRootsProvider(opened.provider, otherRoots),
    metrics,
  )
  health.bundle = new SpiffeBundle(provider, systemClock)
  const plugins = new EndpointsPlugins(options.endpointsPlugins ?? noPlugins, { feed, metrics, logger, signal })
  const hostedPlugins = plugins.start()
  loops.push(hostedPlugins.stopped)
  await unlessAborted(hostedPlugins.answered, signal)
  const { broker, catalog, certificates, configurator, host, pushes, registry, runner } = composeController({
    options,
    feed,
    provider,
    plugins: plugins.providers,
    signal,
  })
  opened.confirmBy?.(() => connectedSidecars(host, catalog))
  const rules = new SpecRules({
    ...options.domains,
    osmNamespace: options.osmNamespace,
    crossNamespace: () => configurator.current().traffic.crossNamespace,
    gatewayNames: () => configurator.current().certificate.ingressGateway?.subjectAltNames ?? [],
    readsRootCertificates: options.readsRootCertificates ?? false,
    locate: feed.locate.bind(feed),
  })
  configurator.start()
  const { secrets, enrolment } = options
  const followed = { feed, configurator, signal }
  await unlessAborted(
    followNamed({
      ...followed,
      kinds: ['Egress', 'Namespace'],
      follow: (snapshot) => secrets.follow(wantedSecrets(snapshot, configurator.current(), enrolment)),
      settled: (waiting) => secrets.settled(waiting),
    }),
    signal,
  )
  const { outsideServices } = options
  if (outsideServices !== undefined)
    await unlessAborted(
      followNamed({
        ...followed,
        kinds: ['IngressBackend', 'AccessControl', 'Namespace'],
        follow: (snapshot) => outsideServices.follow(namedOutsideServices(snapshot, configurator.current(), enrolment)),
        settled: (waiting) => outsideServices.settled(waiting),
      }),
      signal,
    )
  const observed = meshMetrics({ metrics, configurator, certificates, feed, version: options.version, signal })
  const mesh = followMesh({
    catalog,
    feed,
    configurator,
    certificates,
    secrets,
    pushes,
    loop,
    onFault: (error) => {
      logger.error({ reason: String(error) }, 'a recomputation of policies failed')
    },
    onRecomputed: observed.recomputed,
    signal,
  })
  loops.push(
    certificates.run(signal),
    host.run(),
    observed.stopped,
    measureRoots({ metrics, certificates, rotation: opened.rotation, clock: systemClock }, signal),
    mesh.stopped,
  )
  if (options.otherDrivers !== undefined) {
    const hosted = await hostDrivers({
      ...options.otherDrivers,
      sink: registry,
      logger: logger.child('drivers'),
      signal,
    })
    loops.push(hosted.stopped)
  }
  followConfiguration({ configurator, broker, logger })
  const drivers = () => driverStates({ registry, runner })
  const unsupported = new UnsupportedFields()
  const problems = () =>
    findProblems({ feed, rules, configurator, catalog, registry, unsupported, drivers, provider, plugins })
  const watch = new ProblemWatch({
    find: problems,
    subscribe: subscribeAll([
      (listener) => feed.subscribe(listener),
      (listener) => catalog.getSMISpec().announcements(listener),
      (listener) => configurator.onRead(listener),
      (listener) => catalog.announcements(listener),
      (listener) => registry.subscribe(listener),
      (listener) => provider.onFaultChange(listener),
      (listener) => otherRoots?.onChange(listener) ?? (() => undefined),
      (listener) => plugins.onStateChange(listener),
    ]),
    clock: systemClock,
    // Proxies wait for their first policies.
    busy: () => configurator.present && !(catalog.ready && catalog.settled),
  })
  const sources: DebugSources = {
    host,
    catalog,
    certificates,
    provider,
    workloadApiRoots: () => otherRoots?.current() ?? [],
    plugins,
    rotation: opened.rotation,
    configurator,
    problems,
    drivers,
    pushes,
    snapshot: () => feed.current(),
    settled: mesh.settled,
    signal,
  }
  // Drivers add theirs while they start.
  const pages = (): ReadonlyMap<string, DebugPage> => debugPages(sources)
  const parts: ControllerParts = {
    meshName: options.meshName,
    osmNamespace: options.osmNamespace,
    domains: options.domains,
    feed,
    configurator,
    certificates,
    rotation: opened.rotation,
    catalog,
    host,
    registry,
    rules,
    plugins,
    metrics,
    problems: watch,
    computed: mesh.computed,
    pages,
    loop,
    logger,
    signal,
  }
  logProblems(watch, logger)
  loops.push(watch.run(signal))
  // Before MeshConfig is waited for: a webhook may be what it has to pass.
  const attached: RunningAttachment[] = []
  for (const attachment of options.attachments ?? []) {
    const running = await unlessAborted(attachment(parts), signal)
    attached.push(running)
    loops.push(running.stopped)
  }
  if (options.meshConfig.required) await untilConfigured(options, feed, () => configurator.present, signal)

  await unlessAborted(runner.start(), signal)
  health.alive = () => runner.alive()
  health.ready = async () => {
    const answers = await Promise.all([runner.ready(), ...attached.map((it) => it.ready())])
    return catalog.ready && answers.every((ready) => ready)
  }
  const debug = new DebugSwitch({
    server: () => debugServer(pages, loop, options.serverNames.dnsNames),
    address: { host: bindAddress, port: ports.debug },
    configurator,
    mode: options.debugServer,
    metrics,
    logger,
  })
  await debug.start(signal)
  loops.push(debug.stopped)
  logger.info({ healthPort, debugPort: debug.port, classes: runner.classes() }, 'controller started')
  return {
    get debugPort() {
      return debug.port
    },
    healthPort,
    get proxyClasses() {
      return runner.classes()
    },
    stopped: stopWith(signal, fail, servers, loops, () => host.connected),
  }
}

async function openProvider(
  { certificateProvider }: ControllerOptions,
  feed: SnapshotFeed,
  signal: AbortSignal,
): Promise<OpenedProvider> {
  if (typeof certificateProvider === 'function') return certificateProvider(feed, signal)
  return { provider: certificateProvider, stopped: Promise.resolve() }
}

function workloadApiRoots(
  { domains, logger }: ControllerOptions,
  { socketPath }: WorkloadApiOptions,
  provider: CertificateProvider,
): WorkloadApiRoots {
  return new WorkloadApiRoots({
    socketPath,
    trustDomain: domains.trustDomain,
    forbidden: () => provider.trustBundle('control-plane'),
    clock: systemClock,
    random: Math.random,
    logger: logger.child('workload-api'),
  })
}

/** Nothing is served by defaults that no one chose. */
async function untilConfigured(
  { logger, meshConfig, osmNamespace }: ControllerOptions,
  feed: SnapshotFeed,
  present: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  if (present()) return
  logger.warn(
    { namespace: osmNamespace, name: meshConfig.name ?? 'osm-mesh-config' },
    'there is no MeshConfig yet; waiting for it',
  )
  let leave = (): void => undefined
  const arrived = new Promise<void>((resolve) => {
    // The configurator has subscribed before and has seen what this is called for.
    leave = feed.subscribe(() => {
      if (present()) resolve()
    })
  })
  await unlessAborted(arrived, signal).finally(() => leave())
}

/** Loops end with the signal; what one of them throws ends the controller, which its supervisor restarts. */
async function stopWith(
  signal: AbortSignal,
  fail: () => void,
  servers: readonly FastifyInstance[],
  loops: readonly Promise<void>[],
  connected: () => number,
): Promise<void> {
  try {
    await joinLoops(signal, loops)
    await drained(connected)
  } catch (error) {
    // The others must not continue without it.
    fail()
    throw error
  } finally {
    await Promise.allSettled(servers.map((server) => server.close()))
  }
  await Promise.all(loops)
}
