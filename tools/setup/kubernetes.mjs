import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { say } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { builtCertManager } from './cert-manager.mjs'
import { ensureEtcd } from './etcd.mjs'
import { ensureKubectlAndHelm } from './kubectl-and-helm.mjs'
import { ensurePrometheus } from './prometheus.mjs'
import { kubernetesObstacle } from './kubernetes-obstacle.mjs'
import { ensureKubernetesPrograms } from './kubernetes-programs.mjs'
import { ensureTransparentMode } from './transparent-mode.mjs'

/**
 * Finds or makes what the API tier runs on: a real API server with its etcd, kubectl and helm, and network namespaces for what stands
 * in for nodes. Where this machine can't have them, says why and what to do.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<NodeJS.ProcessEnv>} where the programs are, or OSM_API_TIER_OBSTACLE
 */
export async function ensureKubernetes(env = process.env) {
  const obstacle = await findObstacle(env)
  if (obstacle !== undefined) {
    say(`the API tier is left out: ${obstacle}`)
    return { OSM_API_TIER_OBSTACLE: obstacle }
  }
  const assets = env.KUBEBUILDER_ASSETS ? fromAssets(env.KUBEBUILDER_ASSETS) : undefined
  const { helm, kubectl } = await ensureKubectlAndHelm()
  const certManager = builtCertManager()
  if (certManager === undefined)
    say(
      'tests with a real cert-manager are left out: build it by OSM_BUILD_CERT_MANAGER=1 node tools/bootstrap.mjs cluster-build',
    )
  return {
    ETCD_BIN: assets?.etcd ?? (await ensureEtcd()),
    KUBE_APISERVER_BIN: assets?.apiServer ?? join(await ensureKubernetesPrograms(['kube-apiserver']), 'kube-apiserver'),
    OSM_CERT_MANAGER: certManager ?? '',
    HELM_BIN: helm,
    PROMETHEUS_BIN: await ensurePrometheus(),
    KUBECTL_BIN: kubectl,
  }
}

/**
 * The programs of a folder as test environments of controllers use them.
 * @param {string} folder
 */
export function fromAssets(folder) {
  const programs = { apiServer: join(folder, 'kube-apiserver'), etcd: join(folder, 'etcd') }
  const missing = Object.values(programs).find((path) => !existsSync(path))
  if (missing === undefined) return programs
  throw new SetUpError(
    `KUBEBUILDER_ASSETS=${folder} holds no ${missing}. Correct it, or unset it to have one made here.`,
  )
}

/** @param {NodeJS.ProcessEnv} env */
async function findObstacle(env) {
  const obstacle = await kubernetesObstacle(env)
  if (obstacle !== undefined) return obstacle
  return (await ensureTransparentMode()) ? undefined : 'this environment gives it no network namespaces'
}
