import { cp } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { until } from '@osm-ts/driver-api/toolkit'

import { type MeshPrograms, RealMesh } from './real-mesh.js'
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
  const mesh = await RealMesh.start(options, async (scratch) => {
    await cp(options.example, join(scratch, 'example'), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
    return join(scratch, 'example/mesh')
  })
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
        await mesh.edit('traffic-access.yaml', from, to)
        await until(async () => (await steal(mesh)) === status, `a ${status} for the thief`)
        policy.push(performance.now() - start)
        await mesh.quiet()
      }
      for (const [from, to] of [
        [closed, open],
        [open, closed],
      ] as const) {
        const before = new Map((await mesh.statuses()).map(({ uuid, wantedVersion }) => [uuid, wantedVersion]))
        const start = performance.now()
        await mesh.edit('mesh.yaml', from, to)
        await until(
          async () =>
            (await mesh.statuses()).every(
              ({ uuid, state, wantedVersion }) => state === 'applied' && wantedVersion !== before.get(uuid),
            ),
          `every proxy with "${to}"`,
        )
        everyProxy.push(performance.now() - start)
        await mesh.quiet()
      }
    }
    return { proxies: (await mesh.statuses()).length, policy: summarize(policy), everyProxy: summarize(everyProxy) }
  } finally {
    await mesh.stop()
  }
}

/** Status of a request of the thief for what only the buyer may have, through the thief's sidecar. */
function steal(mesh: RealMesh): Promise<number> {
  const path = 'http://bookstore.bookstore:14001/buy-a-book/new'
  return new Promise((resolve, reject) => {
    const asking = request({ ...mesh.proxyOf('bookthief'), path, headers: { 'user-agent': 'bench' } }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    asking.setTimeout(5000, () => asking.destroy(new Error('no answer within five seconds')))
    asking.once('error', reject)
    asking.end()
  })
}
