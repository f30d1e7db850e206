import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundlePrograms } from '../../../tools/lib/bundle.mjs'
import { ensureEnvoy } from '../../../tools/setup/envoy-binary.mjs'
import { ensureKubernetes } from '../../../tools/setup/kubernetes.mjs'

/**
 * Starts an API server for each worker of the run, as processes of their own: if the run is killed, they end and clean up by themselves. Files
 * that change what the whole cluster shares then meet none that another worker runs.
 * @param {{ readonly maxWorkers: number }} options
 */
export default async function globalSetup({ maxWorkers }) {
  const found = process.env.KUBE_APISERVER_BIN ? {} : await ensureKubernetes()
  if (found.OSM_API_TIER_OBSTACLE) throw new Error(found.OSM_API_TIER_OBSTACLE)
  Object.assign(process.env, found)
  process.env.ENVOY_BIN ??= await ensureEnvoy()
  const [bundle = ''] = await bundlePrograms(['api-server'])
  const servers = Array.from({ length: maxWorkers }, () => startServer(bundle))
  // Kept also for a start that fails: the end of the run ends those that have started.
  globalThis.osmApiServers = servers
  const paths = await Promise.all(servers.map(describeServer))
  process.env.OSM_API_SERVER_DESCRIPTIONS = JSON.stringify(paths)
}

/** @typedef {{ readonly child: import('node:child_process').ChildProcessByStdio<any, any, null>, readonly ended: Promise<unknown> }} ServerProcess */

/**
 * @param {string} bundle
 * @returns {ServerProcess}
 */
function startServer(bundle) {
  const child = spawn(process.execPath, [bundle], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, ended: new Promise((resolve) => child.once('close', resolve)) }
}

/**
 * Waits until a server is ready, and writes down what it says of itself.
 * @param {ServerProcess} server
 * @returns {Promise<string>} the path of its description
 */
async function describeServer({ child, ended }) {
  const description = await Promise.race([firstLine(child.stdout), ended.then(() => undefined)])
  if (description === undefined) throw new Error('the API server did not start')
  const path = join(JSON.parse(description).folder, 'description.json')
  writeFileSync(path, description, { mode: 0o600 })
  return path
}

/** @param {import('node:stream').Readable} stream */
async function firstLine(stream) {
  for await (const line of createInterface({ input: stream })) return line
  return undefined
}
