import { setMaxListeners } from 'node:events'

import { untilAborted } from '@osm-ts/driver-api/toolkit'
import { createLogger, SnapshotFeed, systemClock } from '@osm-ts/core'
import {
  createInformer,
  type KubernetesApi,
  type KubernetesManifest,
  KubernetesSource,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { GeneratedMesh } from '@osm-ts/core/testing'
import { Deduplicator, podInformer, PodReader, ProbeBindingsReader } from '@osm-ts/kubernetes/testing'
import { programsFrom, startApiServer, type OwnApiServer } from '../api/harness/index.js'
import { defineKinds } from '../api/support/definitions.js'
import { createObjects, meshedNamespace, serviceObjects } from './kubernetes-cluster.js'
import { round, summarize, type Summary } from './statistics.js'

/** How large a cluster is. Pods and services spread evenly over the namespaces. */
interface ClusterSize {
  readonly pods: number
  readonly services: number
  readonly namespaces: number
}

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
  /** Bytes of heap per pod that the copy of all pods takes, with its index and the instances made of them. */
  readonly podStoreBytesPerPod: number
  /** Bytes of heap per pod that everything takes that was read: services, slices and accounts included, and the snapshot made from it. */
  readonly totalBytesPerPod: number
  /** Kilobytes per pod as the API server sends them. */
  readonly podKilobytesOnTheWire: number
}

const ports = { clock: systemClock, random: Math.random, logger: createLogger('bench', 'disabled') }

/** Measures against a real API server, which is started for it. */
export async function measureKubernetesSync(size: SyncSize): Promise<SyncFigures> {
  const end = endlessController()
  const server = await startApiServer(programsFrom(process.env), end.signal)
  try {
    return await measure(server, size, end.signal)
  } finally {
    end.abort()
    await server.stop()
  }
}

async function measure({ client: { api } }: OwnApiServer, size: SyncSize, signal: AbortSignal): Promise<SyncFigures> {
  await defineKinds(api, signal)
  await createObjects(api, clusterObjects(size), signal)
  const times: number[] = []
  for (let index = 0; index < size.rounds; index += 1) times.push(await timeSync(api, size))
  return {
    pods: size.pods,
    services: size.services,
    namespaces: size.namespaces,
    sync: summarize(times),
    podStoreBytesPerPod: Math.round((await heapOf(() => openPods(withoutWatches(api), size))) / size.pods),
    totalBytesPerPod: Math.round((await heapOf(() => openMesh(withoutWatches(api), size))) / size.pods),
    podKilobytesOnTheWire: round((await podBytesOnTheWire(api, signal)) / 1000),
  }
}

const namespaceName = (index: number): string => `team-${index}`

/** Namespaces of a mesh with services, accounts, pods that run, and the slices that a controller would write. */
function clusterObjects({ services, namespaces, pods }: ClusterSize): readonly KubernetesManifest[] {
  const mesh = new GeneratedMesh({ services, namespaces, calls: 0, namespaceName })
  const replicas = pods / services
  return [
    ...mesh.namespaces.map(meshedNamespace),
    ...mesh.places().flatMap((place, service) => {
      const own = Array.from({ length: replicas }, (_, n) => ({ ...place, index: service * replicas + n }))
      return serviceObjects(place, own, 'None')
    }),
  ]
}

/** Something that holds what it has read until it is closed. */
interface Held {
  readonly close: () => Promise<void>
}

/** Reads the whole mesh once, as a controller that has just started does. */
async function timeSync(api: KubernetesApi, size: ClusterSize): Promise<number> {
  const start = performance.now()
  const mesh = await openMesh(api, size)
  const milliseconds = performance.now() - start
  await mesh.close()
  return milliseconds
}

async function openMesh(api: KubernetesApi, { pods, services, namespaces }: ClusterSize): Promise<Held> {
  const end = endlessController()
  const source = new KubernetesSource({ api, meshName: 'osm', osmNamespace: 'osm-system', ...ports })
  const feed = new SnapshotFeed([source])
  await feed.start(end.signal)
  const counts = (['WorkloadInstance', 'Service', 'Namespace'] as const).map(
    (kind) => feed.current()?.list(kind).length,
  )
  if (counts.join() !== [pods, services, namespaces].join()) throw new Error(`not all was read: ${counts.join(', ')}`)
  return {
    close: async () => {
      end.abort()
      await source.finished()
      // What was read is held to the last: a measurement may have been waiting for it.
      if (feed.current() === undefined) throw new Error('the snapshot is gone')
    },
  }
}

/** Informers that follow the pods of all namespaces and nothing else. */
async function openPods(api: KubernetesApi, { namespaces, pods }: ClusterSize): Promise<Held> {
  const end = endlessController()
  const reader = new PodReader(new Deduplicator(), new ProbeBindingsReader())
  const informers = Array.from({ length: namespaces }, (_, index) =>
    podInformer((options) => createInformer({ ...options, api, ...ports }), reader, namespaceName(index)),
  )
  await Promise.all(informers.map((informer) => informer.start(end.signal)))
  return {
    close: async () => {
      end.abort()
      const held = informers.reduce((sum, informer) => sum + informer.list().length, 0)
      if (held !== pods) throw new Error(`${held} of ${pods} pods were held`)
    },
  }
}

/** Heap that something takes while it is open, all that its making left behind aside. */
async function heapOf(open: () => Promise<Held>): Promise<number> {
  const closeAndCompare = async (held: Held): Promise<{ readonly before: number }> => {
    const before = await settledHeap()
    await held.close()
    return { before }
  }
  const { before } = await closeAndCompare(await open())
  return before - (await settledHeap())
}

/** Lists as ever, and watches that hear of nothing: connections are not part of what is held. */
function withoutWatches(api: KubernetesApi): KubernetesApi {
  const watch: KubernetesApi['watch'] = (_type, query, signal) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        query.onOpen?.()
        await untilAborted(signal)
        return { done: true, value: undefined }
      },
    }),
  })
  return new Proxy(api, {
    get: (target, name) => {
      if (name === 'watch') return watch
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

async function podBytesOnTheWire(api: KubernetesApi, signal: AbortSignal): Promise<number> {
  const { items } = await api.list(resourceTypes.Pod, { namespace: namespaceName(0), limit: 50 }, signal)
  return JSON.stringify(items).length / items.length
}

function endlessController(): AbortController {
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  return end
}

/** Heap in use once nothing more can be collected; the benchmarks run with the collector exposed. */
async function settledHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc')
  let heap = Number.POSITIVE_INFINITY
  for (;;) {
    globalThis.gc()
    const next = process.memoryUsage().heapUsed
    if (next > heap * 0.999) return Math.min(heap, next)
    heap = next
    // Sockets and timers release their memory when they have closed.
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
