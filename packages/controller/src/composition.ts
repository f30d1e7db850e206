import 'reflect-metadata'

import {
  Broker,
  type CertificateProvider,
  certificateSettings,
  configuredHeaders,
  DriverHost,
  DriverRegistry,
  issuanceLog,
  MeshCatalog,
  MeshCertificateManager,
  MeshConfigurator,
  type EndpointsProvider,
  ProxyRegistry,
  PushLog,
  type SnapshotFeed,
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
  host: token<DriverHost>('host'),
  instances: token<SnapshotInstances>('instances'),
  proxies: token<ProxyRegistry>('proxies'),
  providers: token<readonly EndpointsProvider[]>('providers'),
  pushes: token<PushLog>('pushes'),
  registry: token<DriverRegistry>('registry'),
  runner: token<DriverRunner>('runner'),
} as const

/**
 * Says how the parts of a controller are made from each other. Nothing is made before it is asked for, and nothing starts to work by being made.
 *
 * The only place that knows the container: every class takes plain constructor arguments.
 */
export function composeController(
  options: ControllerOptions,
  feed: SnapshotFeed,
  provider: CertificateProvider,
  signal: AbortSignal,
): Container {
  const container = new Container({ defaultScope: 'Singleton' })
  const { meshName, osmNamespace, domains, logger, metrics, meshConfig, enrolment } = options
  const subscribe = feed.subscribe.bind(feed)
  const locate = feed.locate.bind(feed)

  container.bind(tokens.broker).toResolvedValue(() => new Broker())
  container.bind(tokens.configurator).toResolvedValue(
    () =>
      new MeshConfigurator({
        meshName,
        osmNamespace,
        domains,
        environment: options.environment,
        ...(meshConfig.preset === undefined ? {} : { preset: meshConfig.preset }),
        ...(meshConfig.name === undefined ? {} : { configName: meshConfig.name }),
        anyNamespace: meshConfig.anyNamespace,
        whenAbsent: meshConfig.required ? 'last' : 'defaults',
        pinsRestartOnly: meshConfig.required,
        current: () => feed.current(),
        subscribe,
        locate,
      }),
  )
  container.bind(tokens.proxies).toResolvedValue(() => new ProxyRegistry())
  container.bind(tokens.certificates).toResolvedValue(
    (configurator, proxies) =>
      new MeshCertificateManager({
        provider,
        issuanceLog: issuanceLog(logger.child('audit')),
        settings: () => certificateSettings(configurator.current().certificate),
        domains,
        proxies,
        clock: systemClock,
        random: Math.random,
        signal,
      }),
    [tokens.configurator, tokens.proxies],
  )
  container.bind(tokens.providers).toResolvedValue(() => options.endpointsProviders(feed))
  container
    .bind(tokens.catalog)
    .toResolvedValue(
      (endpointsProviders, proxies) =>
        new MeshCatalog({ meshName, osmNamespace, domains, endpointsProviders, enrolment, proxies, locate }),
      [tokens.providers, tokens.proxies],
    )
  container.bind(tokens.instances).toResolvedValue(
    (configurator) =>
      new SnapshotInstances({
        current: () => feed.current(),
        subscribe,
        defaultClass: () => configurator.current().sidecar.sidecarClass,
      }),
    [tokens.configurator],
  )
  container.bind(tokens.pushes).toResolvedValue(() => new PushLog(metrics, () => systemClock.now()))
  container.bind(tokens.host).toResolvedValue(
    (catalog, instances, certificates, configurator, broker, pushes) =>
      new DriverHost({
        policies: catalog,
        catalog,
        instances,
        certificates,
        secrets: options.secrets,
        headerValues: configuredHeaders(configurator),
        domains,
        configurator: configurator.forDrivers(),
        servicesOf: (account) => catalog.endpoints.listServicesForIdentity(account).items,
        connectionCap: () => configurator.current().sidecar.maxDataPlaneConnections,
        broker,
        metrics,
        pushes,
        logger: logger.child('driver-host'),
        osmNamespace,
        serverNames: options.serverNames,
        now: () => systemClock.now(),
        setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs),
        signal,
      }),
    [tokens.catalog, tokens.instances, tokens.certificates, tokens.configurator, tokens.broker, tokens.pushes],
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
