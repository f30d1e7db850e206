import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundlePrograms } from '../../../tools/lib/bundle.mjs'
import { ensureEnvoy } from '../../../tools/setup/envoy-binary.mjs'
import { ensureKubernetes } from '../../../tools/setup/kubernetes.mjs'

/** Starts the API server that the whole run shares, as a process of its own: if the run is killed, it ends and cleans up by itself. */
export default async function globalSetup() {
  const found = process.env.KUBE_APISERVER_BIN ? {} : await ensureKubernetes()
  if (found.OSM_API_TIER_OBSTACLE) throw new Error(found.OSM_API_TIER_OBSTACLE)
  Object.assign(process.env, found)
  process.env.ENVOY_BIN ??= await ensureEnvoy()
  const [bundle = ''] = await bundlePrograms(['api-server'])
  const child = spawn(process.execPath, [bundle], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const description = await Promise.race([firstLine(child.stdout), ended.then(() => undefined)])
  if (description === undefined) throw new Error('the API server did not start')
  const path = join(JSON.parse(description).folder, 'description.json')
  writeFileSync(path, description, { mode: 0o600 })
  process.env.OSM_API_SERVER_DESCRIPTION = path
  globalThis.osmApiServer = { child, ended }
}

/** @param {import('node:stream').Readable} stream */
async function firstLine(stream) {
  for await (const line of createInterface({ input: stream })) return line
  return undefined
}
