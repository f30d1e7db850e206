import v8 from 'node:v8'

import {
  certificateNames,
  createLogger,
  issueLeaf,
  MemoryCaStore,
  Metrics,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { boundHeapGrowth, healthLimits, healthServer, listen, webhookLimits } from '@osm-ts/program'

import { reportFigures } from '../../../../tools/testing/attack/process-watch.mjs'
import { podWebhook } from '../../src/server/pod-webhook.js'
import { PodReviewer } from '../../src/server/reviewer.js'
import { namespaceOf, settingsOf } from '../fixture.js'

// The webhook and the health server of an injector, in their own process. Tells its parent where they listen, and its figures when it is asked.

boundHeapGrowth(v8, 25)
const { signal } = new AbortController()
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const provider = await TresorProvider.open({
  store: new MemoryCaStore(),
  clock: systemClock,
  rootKey: { algorithm: 'ECDSA' },
  authorities: ['control-plane'],
})
const issue = (subject: Parameters<typeof certificateNames>[0]) =>
  issueLeaf(
    provider,
    { ...certificateNames(subject, domains), validityMs: 3_600_000, key: { algorithm: 'ECDSA' } },
    signal,
  )
const dnsNames = ['osm-injector.osm-system.svc']
const own = await issue({ kind: 'control-plane', name: 'osm-injector', dnsNames, ipAddresses: [] })
const logger = createLogger('test', 'disabled', { write: () => undefined })
const metrics = new Metrics()
const settings = settingsOf()
const reviewer = new PodReviewer({
  state: {
    settings: () => settings,
    knownNamespace: () => namespaceOf(),
    readNamespace: () => Promise.reject(new Error('not asked for')),
  },
  certificates: { issueCertificate: issue },
  secrets: { store: () => Promise.resolve(), reusableUuid: () => Promise.resolve(undefined) },
  podCertificates: { assertServed: () => Promise.resolve() },
  logger,
  metrics,
})
const { app } = podWebhook({
  reviewer,
  key: { cert: own.chain, key: own.privateKey() },
  timeoutMs: 20_000,
  logger,
  metrics,
})
const health = healthServer({
  alive: async () => true,
  ready: async () => true,
  metrics: async () => metrics.render(),
  version: { version: '', git_commit: '', build_date: '' },
})
const at = { host: '127.0.0.1', port: 0 }
const ports = {
  webhook: await listen(app, at, { name: 'webhook', limits: webhookLimits, metrics, logger }),
  health: await listen(health, at, { name: 'health', limits: healthLimits, metrics, logger }),
}
reportFigures()
process.send?.(ports)
