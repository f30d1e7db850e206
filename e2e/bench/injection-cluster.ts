import { readFileSync } from 'node:fs'

import { manifests } from '@osm-ts/core/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { apiVersionOf, type KubernetesManifest, resourceTypes } from '@osm-ts/kubernetes'
import { parse } from 'yaml'

import { programsFrom, startApiServer, type OwnApiServer } from '../api/harness/index.js'
import { askSecurely } from '../api/support/ask-securely.js'
import { defineKinds } from '../api/support/definitions.js'
import { createObjects } from './kubernetes-cluster.js'
import { BENCH_NAMESPACE, benchPod, injectedNamespace, meshConfigSpec } from './injection-pods.js'
import { InjectorProgram } from './injection-program.js'
import { round } from './statistics.js'

/** How fast and how long pods are created, and the bundle of osm-injector. */
export interface ClusterInjectionOptions {
  readonly perSecond: number
  readonly seconds: number
  readonly injector: string
}

/** What the API server has measured of its webhook. */
export interface ClusterInjectionResult {
  readonly pods: number
  readonly perSecond: number
  /** Share of the reviews in the bucket of 25 ms of the API server's own histogram, and in that of 5 ms. */
  readonly within25ms: number
  readonly within5ms: number
}

const OSM_NAMESPACE = 'osm-system'
const WEBHOOK = 'osm-inject.k8s.io'
const HISTOGRAM = 'apiserver_admission_webhook_admission_duration_seconds'

/** Pods created through a real API server, which asks osm-injector, which writes its Secrets there. */
export async function measureClusterInjection(options: ClusterInjectionOptions): Promise<ClusterInjectionResult> {
  const end = new AbortController()
  const server = await startApiServer(programsFrom(process.env), end.signal)
  try {
    await prepare(server, end.signal)
    const { address, kubeconfigPath } = server.description
    const injector = await InjectorProgram.start(options.injector, { kubeconfig: kubeconfigPath, address })
    try {
      await register(server, injector, end.signal)
      return await measure(server, options, end.signal)
    } finally {
      await injector.stop()
    }
  } finally {
    end.abort()
    await server.stop()
  }
}

/** What a mesh needs that no one of its control plane but the injector runs of. */
async function prepare({ client: { api } }: OwnApiServer, signal: AbortSignal): Promise<void> {
  await defineKinds(api, signal)
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OSM_NAMESPACE } }
  const books = manifests.account({ namespace: BENCH_NAMESPACE, name: 'books' })
  await createObjects(api, [namespace, injectedNamespace, books, manifests.meshConfig(meshConfigSpec)], signal)
}

/** The webhook and the Service behind which the API server finds it. */
async function register(
  { client: { api }, description }: OwnApiServer,
  injector: InjectorProgram,
  signal: AbortSignal,
): Promise<void> {
  const place = { name: 'osm-injector', namespace: OSM_NAMESPACE }
  const targetPort = injector.webhookPort
  const secret = { namespace: OSM_NAMESPACE, name: 'osm-ca-bundle-control-plane' }
  const root = await api.get(resourceTypes.Secret, secret, signal)
  const { 'ca.crt': caBundle } = root?.data as Readonly<Record<string, string>>
  const objects = [
    manifests.manifest('v1', 'Service', place, {
      ports: [{ name: 'webhook', port: 9090, targetPort, protocol: 'TCP' }],
    }),
    {
      apiVersion: apiVersionOf(resourceTypes.EndpointSlice),
      kind: 'EndpointSlice',
      metadata: { ...place, labels: { 'kubernetes.io/service-name': place.name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [description.address], conditions: { ready: true } }],
      ports: [{ name: 'webhook', port: targetPort, protocol: 'TCP' }],
    },
    {
      apiVersion: apiVersionOf(resourceTypes.MutatingWebhookConfiguration),
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'osm-webhook-osm' },
      webhooks: [
        {
          name: WEBHOOK,
          clientConfig: { caBundle, service: { ...place, port: 9090, path: '/mutate-pod-creation' } },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          namespaceSelector: { matchLabels: { 'openservicemesh.io/monitored-by': 'osm' } },
          admissionReviewVersions: ['v1'],
          sideEffects: 'NoneOnDryRun',
          timeoutSeconds: 20,
        },
      ],
    },
  ]
  await createObjects(api, objects, signal)
}

async function measure(
  server: OwnApiServer,
  { perSecond, seconds }: ClusterInjectionOptions,
  signal: AbortSignal,
): Promise<ClusterInjectionResult> {
  const { api } = server.client
  const createPod = async (index: number): Promise<void> => {
    const pod = await api.create(resourceTypes.Pod, benchPod(index) as KubernetesManifest, { signal })
    if (pod.metadata.labels?.['osm-proxy-uuid'] === undefined) throw new Error('a pod came back without a sidecar')
  }
  await untilInjected(createPod)
  // The first reviews find both programs cold.
  await atRate(perSecond, Math.min(5, seconds), createPod)
  const before = await histogram(server)
  const pods = await atRate(perSecond, seconds, createPod)
  const after = await histogram(server)
  const share = (bound: string): number => round((after(bound) - before(bound)) / (after('+Inf') - before('+Inf')))
  return { pods, perSecond, within25ms: share('0.025'), within5ms: share('0.005') }
}

/** The API server takes up webhooks and endpoints when it sees them. */
async function untilInjected(createPod: (index: number) => Promise<void>): Promise<void> {
  let attempt = 0
  const failed = () =>
    createPod(attempt++).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
  const failure = (last: Awaited<ReturnType<typeof failed>>) => new Error('no pod is injected', { cause: last?.error })
  await eventually(failed, (last) => last === undefined, { everyMs: 200, failure })
}

/** Creates so many a second, whether or not those before are done. */
async function atRate(perSecond: number, seconds: number, work: (index: number) => Promise<void>): Promise<number> {
  const start = performance.now()
  const count = Math.round(perSecond * seconds)
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const due = start + (index * 1000) / perSecond
      await new Promise((resolve) => setTimeout(resolve, due - performance.now()))
      await work(index)
    }),
  )
  return count
}

/** Counts of the webhook's histogram, by the upper bound of their bucket. */
async function histogram({ description }: OwnApiServer): Promise<(bound: string) => number> {
  const { users } = parse(readFileSync(description.kubeconfigPath, 'utf8')) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }]
  }
  const { url, caPem: roots } = description
  const signal = AbortSignal.timeout(60_000)
  const { text } = await askSecurely(`${url}/metrics`, {
    roots,
    serverName: 'kubernetes',
    signal,
    token: users[0].user.token,
  })
  const lines = text.split('\n').filter((line) => line.startsWith(`${HISTOGRAM}_bucket`) && line.includes(WEBHOOK))
  return (bound) => {
    const counts = lines.filter((line) => line.includes(`le="${bound}"`)).map((line) => Number(line.split(' ').at(-1)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
}
