import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { haproxyPackage } from './support/haproxy-package.js'
import { inside, type Inside, type InsideAnswer } from './support/inside.js'
import { loadInside } from './support/inside-load.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { startTestMesh, type TestMesh } from './support/mesh.js'
import { shop, shopPolicy, shopSplit } from './support/shop.js'
import { routeGroup, trafficTarget } from './support/yaml.js'

/** Against hanging only. */
const TIMEOUT_MS = 240_000
/** Of policies, each applied by every sidecar before the next one; two in three take reloads. */
const CHANGES = 12

/** After which nothing more is waited for. */
const SILENCE_MS = 20_000

const cut: InsideAnswer = { error: expect.stringMatching(/^(closed|ECONNRESET)$/) as unknown as string }

/** What returns for that, from outside of the mesh, until the other side ends; empty if it ends without a word. */
function reply(host: string, port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = ''
    const socket = connect({ host, port }, () => socket.write(text))
    socket.setTimeout(SILENCE_MS, () => socket.destroy())
    socket.setEncoding('utf8').on('data', (data: string) => (heard += data))
    socket.on('error', () => undefined).on('close', () => resolve(heard))
  })
}

// What scenario files can't say: who dials what the mesh has no name for, and what becomes of requests while HAProxy is replaced.
describe('class haproxy where the kernel redirects connections', () => {
  let folder: string
  let mesh: TestMesh
  let client: Inside
  let store: Inside
  const namespaceOf = (workload: string) => run('ip', ['netns', 'identify', String(mesh.instance(workload).pid)]).trim()

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-redirected-'))
    mesh = await startTestMesh(shop(), {
      mode: 'transparent',
      sidecarClass: 'haproxy',
      loaded: await haproxyPackage(folder),
    })
    client = inside(mesh, 'shop/client')
    store = inside(mesh, 'shop/store-v1')
  }, TIMEOUT_MS)
  afterAll(async () => {
    await mesh.stop()
    await rm(folder, { recursive: true, force: true })
  }, TIMEOUT_MS)

  it(
    'loses no request while policies change and workers are replaced',
    async () => {
      const lonely = [
        routeGroup('shop/lonely', [{ name: 'all', pathRegex: '.*', methods: ['GET'] }]),
        trafficTarget('shop/lonely', {
          to: 'shop/lonely',
          from: ['shop/client'],
          rules: [{ kind: 'HTTPRouteGroup', name: 'lonely', matches: ['all'] }],
        }),
      ]
      const load = await loadInside(namespaceOf('shop/client'), 'http://store.shop:8080/books/1?delay=5', {
        kept: 4,
        fresh: 2,
      })
      for (let change = 0; change < CHANGES; change += 1) {
        const isOdd = change % 2 === 1
        // Shares, which the worker takes as it is; something new to call; rules of what is called.
        if (change % 3 === 0) await mesh.apply('split.yaml', ...shopSplit({ 'store-v1': 1 + change, 'store-v2': 50 }))
        else if (change % 3 === 1) await mesh.apply('lonely.yaml', ...(isOdd ? lonely : []))
        else await mesh.apply('policy.yaml', ...shopPolicy(isOdd ? ['client', 'thief'] : ['client']))
      }
      const { sent, failures } = await load.stop()
      expect(failures).toEqual([])
      expect(sent).toBeGreaterThan(CHANGES)
    },
    TIMEOUT_MS,
  )

  it('closes connections of the workload to destinations that the mesh does not know', async () => {
    const { address } = store
    expect(await client.ask({ kind: 'http', dial: address, port: 8080, host: 'store-v1.shop' })).toEqual(cut)
    expect(await client.ask({ kind: 'tcp', dial: 'store.shop', port: 443 })).toEqual(cut)
    const vip = { kind: 'http', dial: 'store.shop', port: 8080, path: '/books/1' } as const
    expect(await client.ask({ ...vip, host: 'store.shop' })).toMatchObject({ status: 200 })
    expect(await client.ask({ ...vip, host: 'store.shop:8080' })).toMatchObject({ status: 200 })
    // What was dialled is the service, whatever host a request names.
    for (const host of ['nobody.shop', 'www.example.com:18080', 'lonely.shop'])
      expect(await client.ask({ ...vip, host })).toMatchObject({ status: 200 })
  })

  it('takes nothing without TLS, nothing for a port that is not served, and nothing for another name', async () => {
    // The host reaches workloads, and has no sidecar.
    const answers = await Promise.all(
      [8080, 4711, 15_001, 15_003].map(async (port) => reply(store.address, port, 'GET / HTTP/1.1\r\n\r\n')),
    )
    expect(answers).toEqual(['', '', '', ''])
    expect(await reply(store.address, 15_010, 'GET /ready HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.[01] 200 /)
  })

  it('does not call itself, no matter who dials its listeners', async () => {
    for (const dial of ['127.0.0.1', client.address])
      for (const port of [15_001, 15_003])
        expect(await client.ask({ kind: 'tcp', dial, port, say: 'hello' })).toEqual(cut)
    const books = { kind: 'http', dial: 'store.shop', port: 8080, path: '/books/1', host: 'store.shop' } as const
    expect(await client.ask(books)).toMatchObject({ status: 200 })
  })

  it('has the kernel refuse TCP over IPv6', () => {
    const rules = run('ip', ['netns', 'exec', namespaceOf('shop/client'), 'ip6tables-save', '-t', 'filter'])
    expect(rules).toContain('-A OSM_PROXY_REFUSE -p tcp -j REJECT --reject-with tcp-reset')
  })
})
