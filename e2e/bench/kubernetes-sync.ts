import { setMaxListeners } from 'node:events'

import {
  createInformer,
  customResourceDefinitions,
  KubernetesEndpointsProvider,
  KubernetesSource,
  resourceTypes,
  SnapshotFeed,
  systemClock,
  type Informer,
  type KubernetesApi,
} from '@osm-ts/core'
import type { Logger } from '@osm-ts/driver-api'

import { Interner } from '../../packages/core/src/kubernetes/source/interner.js'
import { podInformer } from '../../packages/core/src/kubernetes/source/namespace-scope.js'
import { PodReader } from '../../packages/core/src/kubernetes/source/pod.js'
import { ProbeBindingsReader } from '../../packages/core/src/kubernetes/source/probe-annotation.js'
import { programsFrom, startApiServer, type OwnApiServer } from '../api/harness/index.js'
import { createCluster, namespaceName, serviceName, type ClusterSize } from './kubernetes-cluster.js'
import { round, summarize, type Summary } from './statistics.js'

/** How large the cluster is, and how often it is read. */
export interface SyncSize extends ClusterSize {
  readonly rounds: number
}

/** How long a mesh takes to be read from an API server, and what it costs to hold. */
export interface SyncFigures {
  readonly pods: number
  readonly services: number
  readonly namespaces: number
  /** Milliseconds from the start of the source to the first snapshot of everything. */
  readonly sync: Summary
  /** Bytes of heap per pod that the store of pods takes, its index and the instances among it. */
  readonly podStoreBytesPerPod: number
  /** Bytes of heap per pod that everything takes that was read: services, slices and accounts included, and the snapshot made from it. */
  readonly totalBytesPerPod: number
  /** Kilobytes per pod as the API server sends them. */
  readonly podKilobytesOnTheWire: number
  /** Endpoints that the provider tells of one service. */
  readonly endpointsOfService: number
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
const ports = { clock: systemClock, random: Math.random, logger: silent }

/** Measures against a real API server, which is started for it. */
export async function measureKubernetesSync(size: SyncSize): Promise<SyncFigures> {
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  const server = await startApiServer(programsFrom(process.env), end.signal)
  try {
    return await measure(server, size, end.signal)
  } finally {
    end.abort()
    await server.stop()
  }
}

async function measure({ client: { api } }: OwnApiServer, size: SyncSize, signal: AbortSignal): Promise<SyncFigures> {
  for (const definition of customResourceDefinitions())
    await api.apply(resourceTypes.CustomResourceDefinition, definition, { fieldManager: 'bench', force: true, signal })
  await createCluster(api, size, signal)
  const times: number[] = []
  let last: Awaited<ReturnType<typeof sync>> | undefined
  for (let index = 0; index < size.rounds; index += 1) {
    last = await sync(api, size)
    times.push(last.milliseconds)
  }
  return {
    pods: size.pods,
    services: size.services,
    namespaces: size.namespaces,
    sync: summarize(times),
    podStoreBytesPerPod: Math.round((await podStoreBytes(api, size)) / size.pods),
    totalBytesPerPod: Math.round((last?.bytes ?? 0) / size.pods),
    podKilobytesOnTheWire: round((await podBytesOnTheWire(api, signal)) / 1000),
    endpointsOfService: last?.endpoints ?? 0,
  }
}

/** Reads the whole mesh once, as a controller that has just started does. */
async function sync(api: KubernetesApi, size: ClusterSize) {
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  const before = heapUsed()
  const source = new KubernetesSource({ api, meshName: 'osm', osmNamespace: 'osm-system', ...ports })
  const feed = new SnapshotFeed([source])
  const start = performance.now()
  await feed.start(end.signal)
  const milliseconds = performance.now() - start
  const bytes = heapUsed() - before
  const instances = feed.current()?.list('WorkloadInstance').length
  if (instances !== size.pods) throw new Error(`${String(instances)} of ${size.pods} pods were read`)
  const provider = new KubernetesEndpointsProvider({
    cluster: source,
    current: () => feed.current(),
    subscribe: (listener) => feed.subscribe(listener),
  })
  const { items } = provider.listEndpointsForService({ namespace: namespaceName(0), name: serviceName(0) })
  end.abort()
  await source.finished()
  return { milliseconds, bytes, endpoints: items.length }
}

/** Heap of informers that follow the pods of all namespaces and nothing else. */
async function podStoreBytes(api: KubernetesApi, { namespaces }: ClusterSize): Promise<number> {
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  const before = heapUsed()
  const pods = new PodReader(new Interner(), new ProbeBindingsReader())
  const informers: Informer<unknown>[] = []
  for (let index = 0; index < namespaces; index += 1) {
    const informer = podInformer((options) => createInformer({ ...options, api, ...ports }), pods, namespaceName(index))
    informers.push(informer)
  }

  await Promise.all(informers.map((informer) => informer.start(end.signal)))
  const bytes = heapUsed() - before
  end.abort()
  return bytes
}

async function podBytesOnTheWire(api: KubernetesApi, signal: AbortSignal): Promise<number> {
  const { items } = await api.list(resourceTypes.Pod, { namespace: namespaceName(0), limit: 50 }, signal)
  return JSON.stringify(items).length / items.length
}

/** Heap in use after a full collection, which is why the benchmarks run with the collector exposed. */
function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc')
  for (let index = 0; index < 3; index += 1) globalThis.gc()
  return process.memoryUsage().heapUsed
}
