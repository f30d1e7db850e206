import {
  createLogger,
  FileCaStore,
  FolderTokenStore,
  FolderResources,
  FolderSecrets,
  Metrics,
  type ProcessLogger,
  SnapshotEndpointsProvider,
  standalonePreset,
  systemClock,
  TresorProvider,
  YamlFolderSource,
} from '@osm-ts/core'
import { buildVersion } from '@osm-ts/program'
import {
  type Attachment,
  choicesOfObjects,
  machineEnrolment,
  providerOpener,
  startController,
  type RunningController,
} from '@osm-ts/controller'

import { AddressedSource } from '../addresses/addressed-source.js'
import { FixedAddressTable } from '../addresses/virtual-addresses.js'
import { builtInDrivers } from '../builtins.js'
import { MESH_NAME, meshDomains, OSM_NAMESPACE } from '../mesh-constants.js'
import { FolderMachines } from '../machines/folder-machines.js'
import type { ControllerConfig, ControllerInput, ControllerReady } from './controller-config.js'

/** A controller in this process. */
export interface ControllerRun {
  readonly ready: ControllerReady
  /** Takes in what the supervisor says. */
  readonly accept: (input: ControllerInput) => void
  readonly logger: ProcessLogger
  /** Resolves when it has stopped; rejects if a part of it failed. */
  readonly stopped: Promise<void>
}

/** What a controller knows of the process that it runs in. */
interface ControllerHost {
  readonly version: string
  /** Folder of the program. */
  readonly programFolder: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Starts the controller that a configuration describes. Ends with the signal. */
export async function runController(
  config: ControllerConfig,
  { version, programFolder, environment }: ControllerHost,
  signal: AbortSignal,
): Promise<ControllerRun> {
  const logger = createLogger('osm-controller', 'info')
  const table = new FixedAddressTable(config.virtualAddresses)
  const folder = new YamlFolderSource({
    folder: config.folder,
    holdsOtherKinds: config.endpointsProviders.length > 0,
  })
  const secrets = new FolderSecrets(folder, (error) =>
    logger.error({ error: String(error) }, 'a listener to Secrets failed'),
  )
  const controller: RunningController = await startController({
    meshName: MESH_NAME,
    osmNamespace: OSM_NAMESPACE,
    domains: meshDomains(),
    sources: [
      new AddressedSource(folder, table),
      new YamlFolderSource({
        name: 'instances',
        folder: config.instances,
        writtenBy: 'runtime',
        // The supervisor puts whole files into their place: there is nothing to wait for, and a sidecar is about to connect.
        times: { debounceMs: 5, settleMs: 0 },
      }),
    ],
    secrets,
    certificateProvider: providerOpener({
      builtIn: await TresorProvider.open({
        store: new FileCaStore(config.ca),
        clock: systemClock,
        rootKey: { algorithm: 'ECDSA' },
      }),
      choose: (feed, isStart) =>
        choicesOfObjects(feed.current(), {
          osmNamespace: OSM_NAMESPACE,
          trustDomain: meshDomains().trustDomain,
          isStart,
        }),
      osmNamespace: OSM_NAMESPACE,
      domains: meshDomains(),
      readSecret: async ({ name, key }) => secrets.text({ namespace: OSM_NAMESPACE, name }, key),
      clock: systemClock,
      random: Math.random,
      logger,
    }),
    ...(config.workloadApiSocket === undefined ? {} : { workloadApi: { socketPath: config.workloadApiSocket } }),
    readsRootCertificates: true,
    endpointsProviders: (feed) => [new SnapshotEndpointsProvider({ id: 'folder', ...feed.reader() })],
    endpointsPlugins: {
      entries: config.endpointsProviders,
      programFolder,
      environment,
      // All of the mesh is on this machine, in explicit mode at loopback addresses.
      allowLoopback: true,
      refusedAddresses: [],
      resources: new FolderResources(folder),
      answersFile: config.endpointsFile,
    },
    enrolment: { mode: 'all' },
    meshConfig: { preset: standalonePreset, anyNamespace: true, required: false },
    drivers: builtInDrivers(),
    otherDrivers: { entries: config.driverPackages, programFolder, environment },
    environment: config.environment,
    proxyServer: {
      address: config.proxyServer.address,
      port: (sidecarClass) => config.proxyServer.ports[sidecarClass] ?? 0,
    },
    serverNames: config.serverNames,
    bindAddress: '127.0.0.1',
    ports: config.ports,
    debugServer: 'always',
    attachments: machineAttachments(config),
    metrics: new Metrics(),
    version: buildVersion(version),
    logger,
    signal,
  })
  return {
    ready: {
      ready: true,
      debugUrl: `http://127.0.0.1:${controller.debugPort}`,
      healthUrl: `http://127.0.0.1:${controller.healthPort}`,
      proxyPorts: config.proxyServer.ports,
    },
    accept: ({ virtualAddresses }) => table.replace(virtualAddresses),
    logger,
    stopped: controller.stopped,
  }
}

/** The server by which machines join, if any may. */
function machineAttachments({
  machines,
  instances,
  proxyServer,
  serverNames,
  environment,
}: ControllerConfig): readonly Attachment[] {
  if (machines === undefined) return []
  const now = (): number => systemClock.now()
  return [
    machineEnrolment({
      address: { host: machines.address, port: machines.port },
      tokens: new FolderTokenStore(machines.tokens, now),
      machines: ({ feed, logger }) =>
        new FolderMachines({ folder: machines.folder, instances, feed, now, logger: logger.child('machines') }),
      environment,
      serverNames,
      proxyPort: (sidecarClass) => proxyServer.ports[sidecarClass] ?? 0,
      now,
      refusedAddresses: [],
    }),
  ]
}
