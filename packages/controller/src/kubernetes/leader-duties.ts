import {
  type Clock,
  type Enrolment,
  EventRecorder,
  gatewayCertificateField,
  type KubernetesApi,
  type KubernetesSource,
  LeaderElector,
  meshObjectLabels,
  type Random,
  StatusWriter,
} from '@osm-ts/core'

import type { Attachment } from '../options.js'
import { changesOf, subscribeAll } from '../subscribe-all.js'
import { BootstrapSecrets } from './bootstrap-secrets.js'
import { OutsideCertificates } from './outside-certificates.js'
import { RoleBindings } from './role-bindings.js'
import { type SecretAccounts, secretRoles } from './secret-roles.js'
import { wantedCertificates } from './wanted-certificates.js'

/** What the duties of the leader are done with. */
export interface LeaderDutiesOptions {
  readonly api: KubernetesApi
  readonly source: KubernetesSource
  /** Unlike that of any other replica that ever lives. */
  readonly identity: string
  readonly accounts: SecretAccounts
  readonly enrolment: Enrolment
  readonly secretGraceMs: number
  /** Name of the MeshConfig. */
  readonly configName: string
  readonly clock: Clock
  readonly random: Random
}

/** Elects a leader among the replicas. Any of them serves proxies; only the leader writes. */
export function leaderDuties(options: LeaderDutiesOptions): Attachment {
  return async (parts) => {
    const { api, source, identity, accounts, enrolment, secretGraceMs, configName, clock, random } = options
    const { meshName, osmNamespace, metrics, feed, configurator, host, rules, problems, signal } = parts
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
    const roles = secretRoles({
      meshName,
      accounts,
      config: () => configurator.current(),
      snapshot: () => feed.current(),
      enrolment,
    })
    const bindings = roles.map(
      (role) =>
        new RoleBindings({
          ...shared,
          osmNamespace,
          role,
          subscribe: subscribeAll([
            changesOf(feed, ['Egress', 'AccessCert']),
            (listener) => configurator.subscribe(listener),
          ]),
        }),
    )
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
          isRefused: (asker, snapshot) =>
            rules
              .check(asker, snapshot)
              .some(({ severity, field = '' }) => severity === 'error' && isOfCertificate(asker.kind, field)),
        }),
      subscribe: subscribeAll([(listener) => feed.subscribe(listener), (listener) => configurator.onRead(listener)]),
    })
    const statuses = new StatusWriter({
      api,
      targets: source,
      events,
      // eslint-disable-next-line require-yield -- they were found out in turns already
      *problems() {
        return [...(problems.current() ?? []), ...outside.problems()]
      },
      proxies: () => host.refusingStatuses(),
      subscribe: subscribeAll([(listener) => problems.subscribe(listener), (listener) => outside.onProblems(listener)]),
      clock,
      random,
      logger,
      metrics,
    })
    const writeStatuses = async (term: AbortSignal): Promise<void> => {
      // Without problems all would seem to be well.
      await problems.found(term)
      if (term.aborted) return
      // What is no object of the mesh changes nothing for the log, and may have a status all the same.
      const end = source.subscribe(() => problems.touch())
      try {
        await statuses.run(term)
      } finally {
        end()
      }
    }
    const lead = async (term: AbortSignal): Promise<void> => {
      leads.set({}, 1)
      try {
        await Promise.all([
          ...bindings.map((it) => it.run(term)),
          secrets.run(term),
          outside.run(term),
          writeStatuses(term),
        ])
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

/** A MeshConfig has fields that say nothing of certificates. */
function isOfCertificate(kind: 'AccessCert' | 'MeshConfig', field: string): boolean {
  return kind === 'AccessCert' || field.startsWith(gatewayCertificateField)
}
