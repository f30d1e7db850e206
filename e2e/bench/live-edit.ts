import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import type { ProxyStatus } from '@osm-ts/core'
import { type RunningMesh, startMesh } from '@osm-ts/standalone'

import { type Summary, summarize } from './statistics.js'

/** From the change of a YAML file to the moment when it is live in real Envoys. */
export interface LiveEdit {
  readonly proxies: number
  /** Milliseconds until a request that the edit allows, or no longer allows, is answered so. Holds the debounce of 100 ms. */
  readonly policy: Summary
  /** Milliseconds until every Envoy of the mesh has applied an edit of MeshConfig that concerns all of them. */
  readonly everyProxy: Summary
}

/** What is measured. */
export interface LiveEditOptions {
  readonly rounds: number
  readonly envoy: string
  /** Folder of the example with its programs. */
  readonly example: string
  readonly controllerProgram: string
}

const POLL_MS = 4
const TIMEOUT_MS = 30_000

/** Runs the demo's mesh with real sidecars and edits its files. */
export async function measureLiveEdit(options: LiveEditOptions): Promise<LiveEdit> {
  const scratch = await mkdtemp(join(tmpdir(), 'osm-bench-edit-'))
  const abort = new AbortController()
  await cp(options.example, join(scratch, 'example'), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
  const folder = join(scratch, 'example/mesh')
  const mesh = await startMesh({
    folder,
    stateFolder: join(scratch, 'state'),
    mode: 'explicit',
    sidecarBinaries: { envoy: options.envoy },
    controllerProgram: options.controllerProgram,
    onEvent: () => undefined,
    signal: abort.signal,
    environment: process.env,
  })
  try {
    await mesh.ready(60_000)
    await quiet(mesh)
    const edit = async (file: string, from: string, to: string): Promise<void> => {
      const text = await readFile(join(folder, file), 'utf8')
      if (!text.includes(from)) throw new Error(`${file} holds no "${from}"`)
      await writeFile(join(scratch, file), text.replace(from, to))
      await rename(join(scratch, file), join(folder, file))
    }
    const [refused, allowed] = ['      matches: [books-bought]', '      matches: [books-bought, buy-a-book]']
    const [closed, open] = ['enableEgress: false', 'enableEgress: true']
    const policy: number[] = []
    const everyProxy: number[] = []
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [from, to, status] of [
        [refused, allowed, 200],
        [allowed, refused, 403],
      ] as const) {
        const start = performance.now()
        await edit('traffic-access.yaml', from, to)
        await until(async () => (await steal(mesh)) === status, `a ${status} for the thief`)
        policy.push(performance.now() - start)
        await quiet(mesh)
      }
      for (const [from, to] of [
        [closed, open],
        [open, closed],
      ] as const) {
        const before = new Map((await statuses(mesh)).map(({ uuid, wantedVersion }) => [uuid, wantedVersion]))
        const start = performance.now()
        await edit('mesh.yaml', from, to)
        await until(
          async () =>
            (await statuses(mesh)).every(
              ({ uuid, state, wantedVersion }) => state === 'applied' && wantedVersion !== before.get(uuid),
            ),
          `every proxy with "${to}"`,
        )
        everyProxy.push(performance.now() - start)
        await quiet(mesh)
      }
    }
    return { proxies: (await statuses(mesh)).length, policy: summarize(policy), everyProxy: summarize(everyProxy) }
  } finally {
    await mesh.stop()
    abort.abort()
    await rm(scratch, { recursive: true, force: true })
  }
}

/** Status of a request of the thief for what only the buyer may have, through the thief's sidecar. */
function steal(mesh: RunningMesh): Promise<number> {
  const thief = mesh.instances().find(({ workload }) => workload === 'bookthief')
  const proxy = thief?.environment.HTTP_PROXY
  if (proxy === undefined) throw new Error('the thief was given no HTTP_PROXY')
  const { hostname, port } = new URL(proxy)
  const path = 'http://bookstore.bookstore:14001/buy-a-book/new'
  return new Promise((resolve, reject) => {
    const asking = request({ hostname, port, path, headers: { 'user-agent': 'bench' } }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    asking.setTimeout(5000, () => asking.destroy(new Error('no answer within five seconds')))
    asking.once('error', reject)
    asking.end()
  })
}

async function statuses(mesh: RunningMesh): Promise<readonly ProxyStatus[]> {
  const response = await fetch(`${mesh.controllerUrl() ?? ''}/debug/status`)
  return ((await response.json()) as { readonly proxies: readonly ProxyStatus[] }).proxies
}

/** Waits until nothing has changed for longer than a change takes. */
async function quiet(mesh: RunningMesh): Promise<void> {
  let last = ''
  let since = performance.now()
  await until(async () => {
    const all = await statuses(mesh)
    const now = JSON.stringify(all.map(({ uuid, wantedVersion, state }) => [uuid, wantedVersion, state]))
    if (now !== last || all.some(({ state }) => state !== 'applied')) since = performance.now()
    last = now
    await pause(40)
    return performance.now() - since > 600
  }, 'a mesh at rest')
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${TIMEOUT_MS / 1000} s`)
    await pause(POLL_MS)
  }
}
