import {
  type ControlPlaneSubject,
  type EndpointsProvider,
  type MeshConfig,
  type ObjectSource,
  type ProcessLogger,
  SnapshotEndpointsProvider,
  type SnapshotFeed,
  systemClock,
} from '@osm-ts/core'
import { type KubernetesApi, SecretTokenStore } from '@osm-ts/kubernetes'
import type { ListenAddress } from '@osm-ts/program'

import type { Attachment } from '../options.js'
import { AccountTokens } from './account-tokens.js'
import { LeaseMachines } from './lease-machines.js'
import { machineEnrolment } from './machine-enrolment.js'

/** How machines join a mesh on Kubernetes. */
export interface ClusterMachinesOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  readonly osmNamespace: string
  /** A port of 0: none may join. */
  readonly address: ListenAddress
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly serverNames: Pick<ControlPlaneSubject, 'dnsNames' | 'ipAddresses'>
  readonly proxyPort: (sidecarClass: string, config: MeshConfig) => number
  /** CIDRs that no machine may have an address of, such as the service range of the cluster. */
  readonly refusedAddresses: readonly string[]
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** What machines add to a controller: nothing where none may join. */
export interface ClusterMachines {
  readonly sources: readonly ObjectSource[]
  readonly endpointsProviders: (feed: SnapshotFeed) => readonly EndpointsProvider[]
  readonly attachments: readonly Attachment[]
}

/** Machines of a mesh on Kubernetes: tokens are Secrets, machines are Leases, and every replica serves them. */
export function clusterMachines(options: ClusterMachinesOptions): ClusterMachines {
  const { api, meshName, osmNamespace, address, logger, signal, ...enrolment } = options
  if (address.port === 0) return { sources: [], endpointsProviders: () => [], attachments: [] }
  const now = (): number => systemClock.now()
  const machines = new LeaseMachines({
    api,
    meshName,
    osmNamespace,
    clock: systemClock,
    monotonic: () => performance.now(),
    random: Math.random,
    logger: logger.child('machines'),
  })
  return {
    sources: [machines],
    endpointsProviders: (feed) => [
      // Pods are in the same snapshot, and another provider has their endpoints.
      new SnapshotEndpointsProvider({ id: 'machines', only: (instance) => machines.has(instance), ...feed.reader() }),
    ],
    attachments: [
      machineEnrolment({
        ...enrolment,
        address,
        tokens: new SecretTokenStore({ api, meshName, namespace: osmNamespace, now, signal }),
        accounts: ({ feed }) =>
          new AccountTokens({
            api,
            meshName,
            osmNamespace,
            current: () => feed.current(),
            machinesOf: (namespace) => machines.countOf(namespace),
            now,
          }),
        machines: ({ feed }) => machines.follow(feed),
        now,
      }),
    ],
  }
}
