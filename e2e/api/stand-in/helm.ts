import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { ApiServer } from '../harness/index.js'

/** The chart of this repository. */
export const chart = new URL('../../../charts/osm', import.meta.url).pathname

const timeoutMs = 120_000

/** Runs the real helm as the administrator; throws with what it said if it fails. */
export function helm(
  server: ApiServer,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const { HELM_BIN: binary = 'helm' } = env
  const home = join(server.folder, 'helm')
  const homes = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home }
  const options = {
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
    env: { PATH: env.PATH ?? '', HOME: home, KUBECONFIG: server.kubeconfigPath, ...homes },
  }
  return new Promise((resolve, reject) => {
    execFile(binary, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`helm ${args.join(' ')} failed: ${stderr.trim() === '' ? error.message : stderr.trim()}`))
    })
  })
}
