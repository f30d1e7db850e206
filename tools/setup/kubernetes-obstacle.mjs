import { goObstacle } from './go.mjs'
import { kubernetesProgramsAreBuilt } from './kubernetes-programs.mjs'

/**
 * What keeps a real API server from running here that set-up can't bring, and what to do about it; undefined when nothing does.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
export async function kubernetesObstacle(env = process.env) {
  if (process.platform !== 'linux') return 'network namespaces exist on Linux only'
  if (process.getuid?.() !== 0) return 'it takes root, for network namespaces. Run: sudo npm run test:api'
  if (env.KUBEBUILDER_ASSETS || kubernetesProgramsAreBuilt(['kube-apiserver'])) return undefined
  const go = await goObstacle()
  return go && `${go}. Install Go (https://go.dev/dl/), or set KUBEBUILDER_ASSETS, and run: npm run test:api`
}
