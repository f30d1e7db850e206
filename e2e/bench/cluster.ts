import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { connectKubernetes } from '@osm-ts/kubernetes'

import { clusterCommand } from '../cluster/harness/cluster-command.mjs'
import { Mesh } from '../cluster/support/mesh.js'
import { SharedCluster } from '../cluster/support/shared-cluster.js'
import { measureClusterConvergence, type ConvergenceFigures } from './cluster-convergence.js'
import { measurePodStart, type PodStartFigures } from './cluster-pod-start.js'
import { round, summarize, type Summary } from './statistics.js'

/** How much is measured. */
export interface ClusterOptions {
  /** Clusters that are made; pods follow in the last of them. */
  readonly clusters: number
  /** Pods that are started, of each kind. */
  readonly podStarts: number
  /** Meshed pods while policies change. */
  readonly pods: number
  /** How often each kind of change is made. */
  readonly changes: number
  /** Paths of the real kubectl and helm. */
  readonly kubectl: string
  readonly helm: string
}

/** Times on a local cluster of two nodes. */
export interface ClusterFigures {
  /** Milliseconds of `npm run cluster -- up`, with everything built; until nodes and DNS are ready. */
  readonly up: Summary & { readonly required: number; readonly isMet: boolean }
  /** Milliseconds of what else it takes to have a mesh: images on empty nodes, and the chart. */
  readonly load: number
  readonly install: number
  readonly podStart: PodStartFigures
  readonly convergence: ConvergenceFigures
}

const requiredUpMs = 90_000

/** Makes clusters of its own, and takes them down. */
export async function measureCluster(options: ClusterOptions): Promise<ClusterFigures> {
  const where = ['--name', `b${process.pid}`]
  const folder = mkdtempSync(join(tmpdir(), 'osm-ts-bench-'))
  try {
    const times: number[] = []
    for (let index = 0; index < options.clusters; index += 1) {
      if (index > 0) (await clusterCommand('down', where)).succeeded()
      const made = await timed(() => clusterCommand('up', where))
      made.result.succeeded()
      times.push(made.milliseconds)
    }
    const up = summarize(times)
    const isMet = up.max < requiredUpMs
    return { up: { ...up, required: requiredUpMs, isMet }, ...(await measureMesh(options, where, folder)) }
  } finally {
    rmSync(folder, { recursive: true })
    await clusterCommand('down', where)
  }
}

async function measureMesh(
  options: ClusterOptions,
  where: readonly string[],
  folder: string,
): Promise<Omit<ClusterFigures, 'up'>> {
  const load = await timed(async () => (await clusterCommand('load', where)).succeeded() as object)
  const description = join(folder, 'description.json')
  const status = (await clusterCommand('status', where)).answer as { readonly cluster: object }
  writeFileSync(
    description,
    JSON.stringify({ ...status.cluster, ...load.result, kubectl: options.kubectl, helm: options.helm }),
  )
  const cluster = SharedCluster.describedBy(description)
  const api = await connectKubernetes({ kubeconfig: cluster.kubeconfig, userAgent: 'osm-ts-bench' })
  const install = await timed(() => Mesh.install(cluster, { name: 'bench' }))
  const mesh = install.result
  const values = { proxyIdentity: 'podCertificate', enablePermissiveTrafficPolicy: true }
  const meshOfOwnKeys = await Mesh.install(cluster, { name: 'bench-keys', values })
  const [meshed, ownKeys, plain] = await Promise.all([
    mesh.createNamespace('bench-meshed'),
    meshOfOwnKeys.createNamespace('bench-own-keys'),
    mesh.createOutsideNamespace('bench-plain'),
  ])
  await mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } })
  const { kubectl } = cluster
  const podStart = await measurePodStart({ api, kubectl, meshed, ownKeys, plain, rounds: options.podStarts })
  await Promise.all([meshed.delete(), plain.delete(), meshOfOwnKeys.uninstall()])
  await mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false } })
  const convergence = await measureClusterConvergence({ api, mesh, pods: options.pods, rounds: options.changes })
  return { load: round(load.milliseconds), install: round(install.milliseconds), podStart, convergence }
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly milliseconds: number }> {
  const start = performance.now()
  const result = await work()
  return { result, milliseconds: performance.now() - start }
}
