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
import { Container, ContainerModule, type ServiceIdentifier } from 'inversify'

import { DriverRunner } from './driver-runner.js'
import { SnapshotInstances } from './instances.js'
import type { ControllerOptions } from './options.js'
import { serviceCertificateMode } from './service-certificate-mode.js'

const token = <T>(name: string): ServiceIdentifier<T> => Symbol(name)

/** Names of the components. */
const tokens = {
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

/** What the modules are made with. */
interface Surroundings {
  readonly options: ControllerOptions
  /** The mesh specification, wherever it is stored. */
  readonly feed: SnapshotFeed
  /** Signs certificates. */
  readonly provider: CertificateProvider
  /** Endpoints providers that were loaded. */
  readonly plugins: readonly EndpointsProvider[]
  readonly signal: AbortSignal
}

/** The mesh specification: its configuration, live. */
function meshSpecification({ options, feed }: Surroundings): ContainerModule {
  const { meshName, osmNamespace, domains, meshConfig } = options
  return new ContainerModule(({ bind }) => {
    bind(tokens.configurator).toResolvedValue(
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
          subscribe: feed.subscribe.bind(feed),
          locate: feed.locate.bind(feed),
        }),
    )
  })
}

/** The certificate manager: service certificates, by the provider that was opened. */
function certificateManager({ options, provider, signal }: Surroundings): ContainerModule {
  const { domains, logger } = options
  return new ContainerModule(({ bind }) => {
    bind(tokens.certificates).toResolvedValue(
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
  })
}

/** The endpoints providers: one for each platform on which workloads run. */
function endpointsProviders({ options, feed, plugins }: Surroundings): ContainerModule {
  return new ContainerModule(({ bind }) => {
    bind(tokens.providers).toResolvedValue(() => [...options.endpointsProviders(feed), ...plugins])
  })
}

/** The mesh catalog: joins specification, endpoints and proxies to policies. */
function meshCatalog({ options, feed }: Surroundings): ContainerModule {
  const { meshName, osmNamespace, domains, enrolment } = options
  const locate = feed.locate.bind(feed)
  return new ContainerModule(({ bind }) => {
    bind(tokens.proxies).toResolvedValue(() => new ProxyRegistry())
    bind(tokens.catalog).toResolvedValue(
      (endpointsProviders, proxies) =>
        new MeshCatalog({
          meshName,
          osmNamespace,
          domains,
          endpointsProviders,
          enrolment,
          proxies,
          locate,
          policyScope: 'connectedProxies',
        }),
      [tokens.providers, tokens.proxies],
    )
  })
}

/** The proxy control plane: the host of drivers, and the drivers of all classes. */
function proxyControlPlane({ options, feed, provider, signal }: Surroundings): ContainerModule {
  const { osmNamespace, domains, logger, metrics } = options
  return new ContainerModule(({ bind }) => {
    bind(tokens.broker).toResolvedValue(() => new Broker())
    bind(tokens.pushes).toResolvedValue(() => new PushLog(metrics, () => systemClock.now()))
    bind(tokens.instances).toResolvedValue(
      (configurator) =>
        new SnapshotInstances({
          current: () => feed.current(),
          subscribe: feed.subscribe.bind(feed),
          defaultClass: () => configurator.current().sidecar.sidecarClass,
        }),
      [tokens.configurator],
    )
    bind(tokens.host).toResolvedValue(
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
          serviceCertificates: serviceCertificateMode(configurator, provider, signal),
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
    bind(tokens.registry).toResolvedValue(() => {
      const registry = new DriverRegistry()
      for (const driver of options.drivers) registry.register(driver)
      return registry
    })
    bind(tokens.runner).toResolvedValue(
      (registry, host, configurator) =>
        new DriverRunner({ registry, host, configurator, proxyServer: options.proxyServer, logger, signal }),
      [tokens.registry, tokens.host, tokens.configurator],
    )
  })
}

/** The components that a controller starts, follows and shows. */
interface Components {
  readonly broker: Broker
  readonly catalog: MeshCatalog
  readonly certificates: MeshCertificateManager
  readonly configurator: MeshConfigurator
  readonly host: DriverHost
  readonly pushes: PushLog
  readonly registry: DriverRegistry
  readonly runner: DriverRunner
}

/**
 * Composes a controller of one module for each family of components. Nothing starts to work by being made.
 *
 * Classes take plain constructor arguments, and get what the container makes; only this file knows the container.
 */
export function composeController(surroundings: Surroundings): Components {
  const container = new Container({ defaultScope: 'Singleton' })
  const modules = [meshSpecification, certificateManager, endpointsProviders, meshCatalog, proxyControlPlane]
  container.load(...modules.map((module) => module(surroundings)))
  const { broker, catalog, certificates, configurator, host, pushes, registry, runner } = tokens
  return {
    broker: container.get(broker),
    catalog: container.get(catalog),
    certificates: container.get(certificates),
    configurator: container.get(configurator),
    host: container.get(host),
    pushes: container.get(pushes),
    registry: container.get(registry),
    runner: container.get(runner),
  }
}
