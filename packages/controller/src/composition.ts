import 'reflect-metadata'

import {
  Broker,
  certificateSettings,
  DriverHost,
  DriverRegistry,
  MeshCatalog,
  MeshCertificateManager,
  MeshConfigurator,
  Metrics,
  SnapshotEndpointsProvider,
  type SnapshotFeed,
  standalonePreset,
  systemClock,
} from '@osm-ts/core'
import { Container, type ServiceIdentifier } from 'inversify'

import { DriverRunner } from './driver-runner.js'
import { SnapshotInstances } from './instances.js'
import type { ControllerOptions } from './options.js'

const token = <T>(name: string): ServiceIdentifier<T> => Symbol(name)

/** What a controller is composed of. */
export const tokens = {
  broker: token<Broker>('broker'),
  catalog: token<MeshCatalog>('catalog'),
  certificates: token<MeshCertificateManager>('certificates'),
  configurator: token<MeshConfigurator>('configurator'),
  endpoints: token<SnapshotEndpointsProvider>('endpoints'),
  host: token<DriverHost>('host'),
  instances: token<SnapshotInstances>('instances'),
  metrics: token<Metrics>('metrics'),
  registry: token<DriverRegistry>('registry'),
  runner: token<DriverRunner>('runner'),
} as const

/**
 * Says how the parts of a controller are made from each other. Nothing is made before it is asked for, and nothing starts to work by being made.
 *
 * The only place that knows the container: every class takes plain constructor arguments.
 */
export function composeController(options: ControllerOptions, feed: SnapshotFeed, signal: AbortSignal): Container {
  const container = new Container({ defaultScope: 'Singleton' })
  const { meshName, osmNamespace, domains, logger } = options
  const subscribe = feed.subscribe.bind(feed)
  const locate = feed.locate.bind(feed)

  container.bind(tokens.broker).toResolvedValue(() => new Broker())
  container.bind(tokens.metrics).toResolvedValue(() => new Metrics())
  container.bind(tokens.configurator).toResolvedValue(
    () =>
      new MeshConfigurator({
        meshName,
        osmNamespace,
        domains,
        environment: options.environment,
        preset: standalonePreset,
        anyNamespace: true,
        current: () => feed.current(),
        subscribe,
        locate,
      }),
  )
  container.bind(tokens.certificates).toResolvedValue(
    (configurator) =>
      new MeshCertificateManager({
        provider: options.certificateProvider,
        settings: () => certificateSettings(configurator.current().certificate),
        domains,
        clock: systemClock,
        random: Math.random,
        signal,
      }),
    [tokens.configurator],
  )
  container.bind(tokens.endpoints).toResolvedValue(
    () =>
      new SnapshotEndpointsProvider({
        id: 'folder',
        current: () => {
          const snapshot = feed.current()
          if (snapshot === undefined) throw new RangeError('asked for endpoints before the sources were read')
          return snapshot
        },
        subscribe,
      }),
  )
  container
    .bind(tokens.catalog)
    .toResolvedValue(
      (endpoints) =>
        new MeshCatalog({ meshName, domains, endpointsProviders: [endpoints], enrolment: { mode: 'all' }, locate }),
      [tokens.endpoints],
    )
  container
    .bind(tokens.instances)
    .toResolvedValue(() => new SnapshotInstances({ current: () => feed.current(), subscribe }))
  container.bind(tokens.host).toResolvedValue(
    (catalog, instances, certificates, configurator, endpoints, broker, metrics) =>
      new DriverHost({
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
        osmNamespace,
        serverNames: options.serverNames,
        now: () => systemClock.now(),
        setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs),
        signal,
      }),
    [
      tokens.catalog,
      tokens.instances,
      tokens.certificates,
      tokens.configurator,
      tokens.endpoints,
      tokens.broker,
      tokens.metrics,
    ],
  )
  container.bind(tokens.registry).toResolvedValue(() => {
    const registry = new DriverRegistry()
    for (const driver of options.drivers) registry.register(driver)
    return registry
  })
  container
    .bind(tokens.runner)
    .toResolvedValue(
      (registry, host, configurator) =>
        new DriverRunner({ registry, host, configurator, proxyServer: options.proxyServer, logger, signal }),
      [tokens.registry, tokens.host, tokens.configurator],
    )
  return container
}
