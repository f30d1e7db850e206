import {
  type Clock,
  EventRecorder,
  type KubernetesApi,
  type KubernetesSource,
  LeaderElector,
  meshObjectLabels,
  type Random,
  StatusWriter,
} from '@osm-ts/core'

import type { Attachment } from '../options.js'
import { BootstrapSecrets } from './bootstrap-secrets.js'
import { OutsideCertificates } from './outside-certificates.js'
import { RoleBindings } from './role-bindings.js'
import { wantedCertificates } from './wanted-certificates.js'

/** What the duties of the leader are done with. */
export interface LeaderDutiesOptions {
  readonly api: KubernetesApi
  readonly source: KubernetesSource
  /** Unlike that of any other replica that ever lives. */
  readonly identity: string
  /** Service accounts of the control plane that need the Secrets of sidecars. */
  readonly accounts: readonly string[]
  readonly secretGraceMs: number
  /** Name of the MeshConfig. */
  readonly configName: string
  readonly clock: Clock
  readonly random: Random
}

/** Elects a leader among the replicas. Any of them serves proxies; only the leader writes. */
export function leaderDuties(options: LeaderDutiesOptions): Attachment {
  return async (parts) => {
    const { api, source, identity, accounts, secretGraceMs, configName, clock, random } = options
    const { meshName, osmNamespace, metrics, feed, configurator, catalog, host, registry, problems, signal } = parts
    const logger = parts.logger.child('leader')
    const elector = new LeaderElector({
      api,
      namespace: osmNamespace,
      name: `osm-controller-${meshName}`,
      identity,
      clock,
      random,
      logger,
      labels: meshObjectLabels(meshName),
    })
    const leads = metrics.gauge('osm_leader', '1 while this replica leads', [])
    leads.set({}, 0)
    const events = new EventRecorder({ api, component: 'osm-controller', namespace: osmNamespace, clock, logger })
    const shared = { api, cluster: source, meshName, clock, random, metrics, logger }
    const bindings = new RoleBindings({ ...shared, osmNamespace, accounts })
    const secrets = new BootstrapSecrets({ ...shared, graceMs: secretGraceMs, monotonic: () => performance.now() })
    const outside = new OutsideCertificates({
      ...shared,
      osmNamespace,
      certificates: parts.certificates,
      wanted: () =>
        wantedCertificates({
          config: configurator.current(),
          configName: { namespace: osmNamespace, name: configName },
          snapshot: feed.current(),
          isEnrolled: (namespace) => source.isEnrolled(namespace),
        }),
      subscribe: (listener) => {
        const ends = [feed.subscribe(listener), configurator.onRead(listener)]
        return () => {
          for (const end of ends) end()
        }
      },
    })
    const statuses = new StatusWriter({
      api,
      targets: source,
      events,
      *problems() {
        return [...(yield* problems()), ...outside.problems()]
      },
      proxies: () => host.refusingStatuses(),
      subscribe: (listener) => {
        const ends = [
          feed.subscribe(listener),
          source.subscribe(listener),
          configurator.onRead(listener),
          catalog.announcements(listener),
          registry.subscribe(listener),
          outside.onProblems(listener),
        ]
        return () => {
          for (const end of ends) end()
        }
      },
      clock,
      random,
      logger,
      metrics,
    })
    const lead = async (term: AbortSignal): Promise<void> => {
      leads.set({}, 1)
      try {
        await Promise.all([bindings.run(term), secrets.run(term), outside.run(term), statuses.run(term)])
      } finally {
        leads.set({}, 0)
      }
    }
    const run = async (): Promise<void> => {
      try {
        await elector.run(signal, lead)
      } finally {
        await events.close()
      }
    }
    return { ready: async () => true, stopped: run() }
  }
}
