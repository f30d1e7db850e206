import { setTimeout as pause } from 'node:timers/promises'

import { type Clock, type Enrolment, gatewayCertificateField, type ObjectKey, type Random } from '@osm-ts/core'
import {
  EventRecorder,
  type KubernetesApi,
  type KubernetesResources,
  type KubernetesSource,
  LeaderElector,
  meshObjectLabels,
  ResourceStatusWriter,
  StatusWriter,
  summarizeRefusals,
} from '@osm-ts/kubernetes'
import { listen, replicaLimits } from '@osm-ts/program'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import type { Attachment } from '../options.js'
import { ownAddress } from '../replicas/replica-name.js'
import { ALL_OBJECTS, awaitedObjects, ReplicaReports, toldObjects } from '../replicas/replica-report.js'
import { replicaServer } from '../replicas/replica-server.js'
import { replicaTrust, type ReplicaTrust } from '../replicas/replica-trust.js'
import { reportToLeader } from '../replicas/report-to-leader.js'
import { changesOf, subscribeAll } from '../subscribe-all.js'
import { BootstrapSecrets } from './bootstrap-secrets.js'
import { OutsideCertificates } from './outside-certificates.js'
import { PodCertificates } from './pod-certificates.js'
import { RoleBindings } from './role-bindings.js'
import { rootRotation } from './root-rotation-duty.js'
import { type SecretAccounts, secretRoles } from './secret-roles.js'
import { wantedCertificates } from './wanted-certificates.js'

/** What the duties of the leader are done with. */
export interface LeaderDutiesOptions {
  readonly api: KubernetesApi
  readonly source: KubernetesSource
  /** Objects of endpoints providers' kinds. */
  readonly resources: KubernetesResources
  /** Unlike that of any other replica that ever lives. */
  readonly identity: string
  readonly accounts: SecretAccounts
  readonly enrolment: Enrolment
  readonly secretGraceMs: number
  /** Where the leader hears the other replicas, and the address of the pod where that is every address. */
  /** True where MeshRootCertificates choose the certificate provider. */
  readonly readsRootCertificates: boolean
  /** True: kubelets make the keys of sidecars, and ask for their certificates. */
  readonly signsPodCertificates: boolean
  readonly replicas: { readonly host: string; readonly port: number; readonly podIP: string | undefined }
  /** Name of the MeshConfig. */
  readonly configName: string
  readonly clock: Clock
  readonly random: Random
}

/** On the Lease: `host:port` where the leader hears the other replicas. Anyone who writes another address gets nothing: servers there show a certificate. */
const leaderAddressAnnotation = 'openservicemesh.io/leader-address'
/** Longer than candidates take to look at the Lease again, and to report to who holds it then. Milliseconds. */
const HEAR_MS = 5_000

/** Elects a leader among the replicas. Any of them serves proxies; only the leader writes. */
export function leaderDuties(options: LeaderDutiesOptions): Attachment {
  return async (parts) => {
    const { api, source, identity, accounts, enrolment, secretGraceMs, configName, clock, random } = options
    const { meshName, osmNamespace, domains, metrics, certificates, feed, configurator } = parts
    const { catalog, host, rules, problems, rotation, signal } = parts
    const logger = parts.logger.child('leader')
    const reports = new ReplicaReports(() => performance.now())
    const server = await replicaServer({
      certificates,
      domains,
      onReport: (report) => report.replica === identity || reports.take(report),
      now: () => clock.now(),
    })
    const { replicas } = options
    const port = await listen(server.app, replicas, { name: 'replicas', limits: replicaLimits, metrics, logger })
    const address = ownAddress(replicas.host, replicas.podIP, port)
    const elector = new LeaderElector({
      api,
      namespace: osmNamespace,
      name: `osm-controller-${meshName}`,
      identity,
      clock,
      random,
      logger,
      labels: meshObjectLabels(meshName),
      // A leader that no one can reach takes back the address of the one before.
      annotations: { [leaderAddressAnnotation]: address ?? '' },
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
      signsPodCertificates: options.signsPodCertificates,
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
    // Even where it never runs: its metrics are the same everywhere.
    const podCertificates = new PodCertificates({
      ...shared,
      certificates,
      enrolment: { meshName, osmNamespace },
      trustDomain: domains.trustDomain,
      configName,
    })
    const statuses = new StatusWriter({
      api,
      targets: source,
      events,
      // eslint-disable-next-line require-yield -- the search has run in turns already
      *problems() {
        return [...(problems.current() ?? []), ...outside.problems(), ...podCertificates.problems()]
      },
      proxies: () => host.refusingStatuses(),
      elsewhere: () => reports.refusals(),
      awaited: () => {
        const here = awaitedObjects(host, catalog)
        const elsewhere = reports.awaited()
        const isOnItsWay = (key: ObjectKey): boolean =>
          feed.current()?.getByKey(key) !== parts.computed()?.getByKey(key)
        return (key) => here.has(key) || elsewhere.has(key) || elsewhere.has(ALL_OBJECTS) || isOnItsWay(key)
      },
      subscribe: subscribeAll([
        (listener) => problems.subscribe(listener),
        (listener) => outside.onProblems(listener),
        (listener) => podCertificates.onProblems(listener),
      ]),
      clock,
      random,
      logger,
      metrics,
    })
    const resourceStatuses = new ResourceStatusWriter({
      api,
      resources: options.resources,
      reports: () => parts.plugins.reports(),
      subscribe: (listener) => parts.plugins.onStateChange(listener),
      clock,
      random,
      logger,
      metrics,
    })
    const trust = (): ReplicaTrust | undefined => rotation && replicaTrust(rotation, certificates)
    const roots = options.readsRootCertificates
      ? rootRotation({ api, source, identity, parts, reports, clock, logger })
      : undefined
    const writeStatuses = async (term: AbortSignal): Promise<void> => {
      // Before the first search every object would be reported as accepted.
      await problems.found(term)
      if (term.aborted) return
      // An object outside the mesh has a status, too, although the mesh does not announce its changes.
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
          resourceStatuses.run(term),
          roots?.run(term),
          options.signsPodCertificates ? podCertificates.run(term) : undefined,
          // After a change of leaders the other replicas are heard first: no one should read meanwhile that no sidecar refuses anything.
          (elector.transitions > 0 ? sleep(HEAR_MS, term) : Promise.resolve()).then(() => writeStatuses(term)),
        ])
      } finally {
        leads.set({}, 0)
      }
    }
    const stand = async (): Promise<void> => {
      try {
        await elector.run(signal, lead)
      } finally {
        await events.close()
      }
    }
    const run = async (): Promise<void> => {
      try {
        await Promise.all([
          stand(),
          server.follow(signal),
          reportToLeader(
            {
              replica: identity,
              leader: () => elector.other?.annotations[leaderAddressAnnotation] || undefined,
              refusals: () => summarizeRefusals(host.refusingStatuses()),
              awaited: () => toldObjects(awaitedObjects(host, catalog)),
              trust,
              certificates,
              domains,
              logger,
            },
            signal,
          ),
          untilAborted(signal),
        ])
      } finally {
        await server.app.close()
      }
    }
    return { ready: async () => true, stopped: run() }
  }
}

/** A MeshConfig has fields that say nothing of certificates. */
function isOfCertificate(kind: 'AccessCert' | 'MeshConfig', field: string): boolean {
  return kind === 'AccessCert' || field.startsWith(gatewayCertificateField)
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined)
}
