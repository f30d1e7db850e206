import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@osm-ts/driver-api/toolkit'

import type { TestMesh } from '../dataplane/support/mesh.js'
import { throughProxy } from '../dataplane/support/traffic.js'
import { type MeshPrograms, startSidecarMesh } from './sidecar-mesh.js'
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
export interface LiveEditOptions extends MeshPrograms {
  readonly rounds: number
  /** Folder of the example with its programs. */
  readonly example: string
}

/** Runs the demo's mesh with real sidecars and edits its files. */
export async function measureLiveEdit(options: LiveEditOptions): Promise<LiveEdit> {
  const mesh = await startSidecarMesh(options, await filesOf(options.example))
  try {
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
        await edit(mesh, 'traffic-access.yaml', from, to)
        await until(async () => (await steal(mesh)) === status, `a ${status} for the thief`)
        policy.push(performance.now() - start)
        await mesh.atRest()
      }
      for (const [from, to] of [
        [closed, open],
        [open, closed],
      ] as const) {
        const before = new Map((await mesh.statuses()).map(({ uuid, wantedVersion }) => [uuid, wantedVersion]))
        const start = performance.now()
        await edit(mesh, 'mesh.yaml', from, to)
        await until(
          async () =>
            (await mesh.statuses()).every(
              ({ uuid, state, wantedVersion }) => state === 'applied' && wantedVersion !== before.get(uuid),
            ),
          `every proxy with "${to}"`,
        )
        everyProxy.push(performance.now() - start)
        await mesh.atRest()
      }
    }
    return { proxies: (await mesh.statuses()).length, policy: summarize(policy), everyProxy: summarize(everyProxy) }
  } finally {
    await mesh.stop()
  }
}

/** The files of the example, whose programs run where they are. */
async function filesOf(example: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const folder = join(example, 'mesh')
  const texts = (await readdir(folder)).map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8')
    return [name, [text.replaceAll('workingDir: ..', `workingDir: ${JSON.stringify(example)}`)]] as const
  })
  return Object.fromEntries(await Promise.all(texts))
}

/** Replaces a text in a file. */
async function edit(mesh: TestMesh, file: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(mesh.folder, file), 'utf8')
  if (!text.includes(from)) throw new Error(`${file} holds no "${from}"`)
  await mesh.write(file, text.replace(from, to))
}

/** Status of a request of the thief for what only the buyer may have, through the thief's sidecar. */
async function steal(mesh: TestMesh): Promise<number> {
  const proxy = mesh.proxyOf('bookthief/bookthief')
  const options = { headers: { 'user-agent': 'bench' }, timeoutMs: 5000 }
  return (await throughProxy(proxy, 'http://bookstore.bookstore:14001/buy-a-book/new', options)).status
}
