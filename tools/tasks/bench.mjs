import { join } from 'node:path'

import { bundlePrograms } from '../lib/bundle.mjs'
import { runAttached } from '../lib/process.mjs'
import { ensureKubectlAndHelm } from '../setup/kubectl-and-helm.mjs'
import { ensureKubernetesPrograms } from '../setup/kubernetes-programs.mjs'
import { ensureKwok } from '../setup/kwok.mjs'
import { ensureLinearCache } from '../setup/linear-cache.mjs'
import { prepare } from '../setup/prepare.mjs'

/**
 * Bundles the benchmarks and runs them. The garbage collector is exposed because they measure memory.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const [bench = ''] = await bundlePrograms([
    'bench',
    'osm-driver-host',
    'bench-floor',
    'bench-injection-load',
    'bench-limits',
    'bench-scale-api',
    'bench-scale-proxies',
    'bench-sidecar-latency-load',
    'bench-sidecar-throughput-load',
    'bench-soak-probe',
    'controller',
    'osm',
    'osm-controller',
    'osm-injector',
  ])
  const clusterEnv = args.includes('cluster') ? await prepareCluster() : {}
  const peersEnv = args.includes('peers') ? { LINEAR_CACHE_BIN: await ensureLinearCache() } : {}
  const kwokEnv = args.includes('kwok') ? await prepareKwok() : {}
  return runAttached(process.execPath, ['--expose-gc', bench, ...args], {
    env: { ...env, ...clusterEnv, ...peersEnv, ...kwokEnv },
  })
}

/** What takes the place of nodes, and what writes EndpointSlices. The API server is there for other benchmarks. */
async function prepareKwok() {
  const controllerManager = 'kube-controller-manager'
  return {
    OSM_KWOK: JSON.stringify(await ensureKwok()),
    KUBE_CONTROLLER_MANAGER_BIN: join(await ensureKubernetesPrograms([controllerManager]), controllerManager),
  }
}

/** What a cluster needs is prepared only on request. */
async function prepareCluster() {
  const env = await prepare(['cluster'])
  const { kubectl, helm } = await ensureKubectlAndHelm()
  return { ...env, KUBECTL_BIN: kubectl, HELM_BIN: helm }
}
