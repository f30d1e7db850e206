import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'

import { makeObjectKey, Metrics, parseMeshDomains, proxyServerPort, systemClock } from '@osm-ts/core'
import {
  type KubernetesApi,
  KubernetesEndpointsProvider,
  KubernetesResources,
  KubernetesSecrets,
  KubernetesSource,
  meshObjectLabels,
  NamedEndpointsProvider,
  readSecretText,
  SharedAuthority,
} from '@osm-ts/kubernetes'
import { buildVersion, connectProgram, type Program, type ProgramContext, readClientCa } from '@osm-ts/program'
import { listedDrivers, listedProviders } from '@osm-ts/driver-process'

import { builtInDrivers } from './builtins.js'
import { providerOpener } from './certificates/provider-opener.js'
import { choiceOfFlags, choicesOfObjects, signingChoice } from './certificates/provider-choice.js'
import { readRootRecord, type RootRecord } from './certificates/root-record.js'
import { controllerFlags, type ControllerFlags, parseControllerFlags } from './controller-flags.js'
import { leaderDuties } from './kubernetes/leader-duties.js'
import { smiDiscovery } from './kubernetes/smi-discovery.js'
import { clusterMachines } from './machines/cluster-machines.js'
import type { Attachment } from './options.js'
import { servedPages } from './pages/served-pages.js'
import { startController } from './start-controller.js'
import { validatingWebhook } from './webhook/validating-webhook.js'

const NAME = 'osm-controller'
const POD_NAME_VARIABLE = 'CONTROLLER_POD_NAME'
const POD_IP_VARIABLE = 'CONTROLLER_POD_IP'

/** osm-controller. */
export const controllerProgram: Program<ControllerFlags> = {
  name: NAME,
  podNameVariable: POD_NAME_VARIABLE,
  definitions: controllerFlags,
  parse: parseControllerFlags,
  main,
}

async function main(context: ProgramContext<ControllerFlags>): Promise<undefined> {
  const { flags, environment, logger, signal } = context
  const { meshName, osmNamespace, osmConfigName } = flags
  const api = await connectProgram(NAME, { flags, environment })
  const metrics = new Metrics()
  const source = new KubernetesSource({
    api,
    meshName,
    osmNamespace,
    configName: osmConfigName,
    clock: systemClock,
    random: Math.random,
    logger: logger.child('source'),
    metrics,
  })
  const resources = new KubernetesResources({
    api,
    cluster: source,
    clock: systemClock,
    random: Math.random,
    logger: logger.child('endpoints-resources'),
  })
  const secrets = new KubernetesSecrets({
    api,
    clock: systemClock,
    random: Math.random,
    logger: logger.child('secrets'),
    signal,
  })
  const outsideServices = new NamedEndpointsProvider({
    api,
    clock: systemClock,
    random: Math.random,
    logger: logger.child('outside-services'),
    signal,
  })
  const domains = parseMeshDomains(flags)
  const clientCa = await readClientCa(flags.webhookClientCa)
  const choice = choiceOfFlags(flags)
  const { enableMeshRootCertificate: readsRootCertificates } = flags
  const rootObjects = {
    osmNamespace,
    trustDomain: domains.trustDomain,
    caFile: flags.vaultCaFile,
    builtInSecret: flags.caBundleSecretName,
  }
  const records = (name: string): RootRecord | undefined => rootRecord(source, osmNamespace, name)
  const authority = await SharedAuthority.open({
    api,
    // The root of workloads is made only where it may sign.
    ...(choice.kind === 'tresor' || readsRootCertificates ? {} : { authorities: ['control-plane'] as const }),
    namespace: osmNamespace,
    secretName: flags.caBundleSecretName,
    labels: { ...meshObjectLabels(meshName, flags.osmVersion), meshName },
    clock: systemClock,
    random: Math.random,
    logger: logger.child('authority'),
    metrics,
    signal,
  })
  const service = environment.CONTROLLER_SVC_NAME || NAME
  const serverNames = {
    dnsNames: [
      `${service}.${osmNamespace}.svc.${domains.clusterDomain}`,
      `${service}.${osmNamespace}.svc`,
      `${service}.${osmNamespace}`,
    ],
    ipAddresses: [],
  }
  const refusedAddresses = [flags.refusedEndpoints, environment[POD_IP_VARIABLE] ?? ''].flatMap(listOf)
  const machines = clusterMachines({
    api,
    meshName,
    osmNamespace,
    address: { host: flags.bindAddress, port: flags.machinePort },
    environment,
    serverNames,
    proxyPort: (sidecarClass, config) => proxyServerPort(config, sidecarClass),
    refusedAddresses,
    logger,
    signal,
  })
  try {
    const controller = await startController({
      meshName,
      osmNamespace,
      domains,
      sources: [source, ...machines.sources],
      secrets,
      endpointsProviders: (feed) => [
        new KubernetesEndpointsProvider({ cluster: source, ...feed.reader() }),
        outsideServices,
        ...machines.endpointsProviders(feed),
      ],
      endpointsPlugins: {
        entries: await listedProviders(flags.endpointsProviders, environment),
        programFolder: import.meta.dirname,
        environment,
        allowLoopback: false,
        resources,
        refusedAddresses,
      },
      outsideServices,
      enrolment: { mode: 'labelled', meshName },
      meshConfig: { name: osmConfigName, anyNamespace: false, required: true },
      certificateProvider: providerOpener({
        builtIn: authority.provider,
        choose: (feed, isStart) =>
          readsRootCertificates
            ? choicesOfObjects(feed.current(), { ...rootObjects, isStart })
            : { active: choice, passive: [] },
        ...(readsRootCertificates
          ? { leader: { records, signing: (feed) => signingChoice(feed.current(), rootObjects, records) } }
          : {}),
        osmNamespace,
        domains,
        cluster: { api, meshName, serviceAccount: flags.osmServiceAccount },
        readSecret: (key) => readSecretText(api, { namespace: osmNamespace, ...key }, signal),
        clock: systemClock,
        random: Math.random,
        logger,
      }),
      ...(flags.workloadApiSocket === '' ? {} : { workloadApi: { socketPath: flags.workloadApiSocket } }),
      readsRootCertificates,
      drivers: builtInDrivers(),
      otherDrivers: {
        entries: await listedDrivers(flags.driverPackages, environment),
        programFolder: import.meta.dirname,
        environment,
      },
      environment,
      proxyServer: {
        address: anyAddress(flags.bindAddress),
        port: (sidecarClass, config) => proxyServerPort(config, sidecarClass),
      },
      serverNames,
      bindAddress: flags.bindAddress,
      ports: { debug: flags.debugPort, health: flags.healthPort },
      debugServer: 'configured',
      version: buildVersion(flags.osmVersion),
      metrics,
      attachments: [...attachments(context, api, { source, resources, authority }, clientCa), ...machines.attachments],
      logger,
      signal,
    })
    await controller.stopped
    await Promise.all([source.finished(), secrets.finished(), outsideServices.finished()])
  } finally {
    authority.provider.close()
  }
  return undefined
}

/** What the leader has written into the status of a MeshRootCertificate. */
function rootRecord(source: KubernetesSource, osmNamespace: string, name: string): RootRecord | undefined {
  const facts = source.served(makeObjectKey('MeshRootCertificate', osmNamespace, name))?.facts
  return facts && readRootRecord(facts.generation, facts.status)
}

function attachments(
  { flags, environment }: ProgramContext<ControllerFlags>,
  api: KubernetesApi,
  {
    source,
    resources,
    authority,
  }: {
    readonly source: KubernetesSource
    readonly resources: KubernetesResources
    readonly authority: SharedAuthority
  },
  clientCa: string | undefined,
): readonly Attachment[] {
  return [
    async ({ signal }) => ({ ready: async () => true, stopped: authority.follow(signal) }),
    smiDiscovery({ api, clock: systemClock }),
    validatingWebhook({
      address: { host: flags.bindAddress, port: flags.webhookPort },
      serviceName: 'osm-validator',
      configName: flags.osmConfigName,
      clientCa,
      environment,
      validateTrafficTarget: flags.validateTrafficTarget,
    }),
    ...(flags.pagesPort === 0
      ? []
      : [
          servedPages({
            api,
            address: { host: flags.bindAddress, port: flags.pagesPort },
            serviceAccount: flags.dashboardServiceAccount,
            now: () => systemClock.now(),
          }),
        ]),
    leaderDuties({
      api,
      source,
      resources,
      identity: `${environment[POD_NAME_VARIABLE] || hostname()}_${randomUUID()}`,
      accounts: { controller: flags.osmServiceAccount, injector: flags.injectorServiceAccount },
      enrolment: { mode: 'labelled', meshName: flags.meshName },
      replicas: { host: flags.bindAddress, port: flags.replicaPort, podIP: environment[POD_IP_VARIABLE] },
      readsRootCertificates: flags.enableMeshRootCertificate,
      signsPodCertificates: flags.proxyIdentity === 'podCertificate',
      secretGraceMs: flags.bootstrapSecretGrace * 1000,
      configName: flags.osmConfigName,
      clock: systemClock,
      random: Math.random,
    }),
  ]
}

/** The items of a list that is separated by commas. */
function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** The address to listen on: all of the machine where none is given, IPv6 included if there is any. */
function anyAddress(given: string): string {
  if (given !== '') return given
  const hasIpv6 = Object.values(networkInterfaces()).some((addresses = []) =>
    addresses.some(({ family }) => family === 'IPv6'),
  )
  return hasIpv6 ? '::' : '0.0.0.0'
}
