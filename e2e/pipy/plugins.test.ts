import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PluginChain } from '@osm-ts/driver-api/policy'
import { guardedScript, type PipyConfig } from '@osm-ts/driver-pipy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import type { Seen } from './support/apps.js'
import { type Answer, open, through } from './support/calls.js'
import { sidecarName } from './support/base-config.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type Plugin = PipyConfig['plugins'][number]

let made = 0

/** A plugin as the control plane sends it. */
function plugin(name: string, chains: readonly PluginChain[], script: string, extra: Partial<Plugin> = {}): Plugin {
  const guarded = guardedScript(script)
  if ('fault' in guarded) throw new Error(guarded.fault)
  made += 1
  return { name, path: `/plugins/${name}.${made}.js`, chains, script: guarded.text, configs: {}, ...extra }
}

describe('plugins of a real sidecar', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
  })
  afterAll(async () => {
    await shop.stop()
  })

  const get = (path = '/books/1', headers: Record<string, string> = {}): Promise<Answer> =>
    through(shop.at.proxy, `http://server.demo:8080${path}`, { headers })
  const use = (server: readonly Plugin[], client: readonly Plugin[] = []): Promise<void> =>
    shop.apply({ ...clientConfig(shop), plugins: client }, { ...serverConfig(shop), plugins: server })

  it('change headers and answer requests, at both sides, in their order', async () => {
    await use(
      [
        plugin('first', ['inbound-http'], `export function request(r) { r.headers['x-seen'] = 'first ' + r.caller }`),
        plugin(
          'second',
          ['inbound-http'],
          `export function request(r, config) {
             r.headers['x-seen'] = r.headers['x-seen'] + ', second ' + config.word
             if (r.path === '/books/none') return { status: 410, body: 'gone', headers: { 'X-Why': 'sold' } }
           }`,
          { configs: { 'demo/server': { word: 'configured' }, 'demo/other': { word: 'wrong' } } },
        ),
      ],
      [plugin('out', ['outbound-http'], `export function request(r) { r.headers['x-out'] = r.method + ' ' + r.path }`)],
    )
    const { headers } = JSON.parse((await get()).body) as Seen
    expect([headers['x-seen'], headers['x-out']]).toEqual([
      'first client.demo.cluster.local, second configured',
      'GET /books/1',
    ])
    expect(await get('/books/none')).toMatchObject({ status: 410, body: 'gone' })
  })

  it('are asked after the rules: what is not allowed never comes to them', async () => {
    await use([plugin('open', ['inbound-http'], `export function request(r) { return { status: 200, body: 'mine' } }`)])
    expect((await get('/admin')).status).toBe(403)
    expect(await get()).toMatchObject({ status: 200, body: 'mine' })
  })

  it.each([
    ['throws', `export function request(r) { if (r.headers['x-bad']) throw new Error('no') }`],
    ['does not end', `export function request(r) { if (r.headers['x-bad']) for (var i = 0; true; i++) {} }`],
    ['calls itself without end', `export function request(r) { return r.headers['x-bad'] ? request(r) : undefined }`],
    ['gives no answer', `export function request(r) { return r.headers['x-bad'] ? 'ok' : undefined }`],
  ])('cost a request its answer when one %s, and nothing else', async (_what, script) => {
    await use([plugin('bad', ['inbound-http'], script)])
    expect(await get('/books/1', { 'x-bad': 'yes' })).toMatchObject({ status: 500, body: 'plugin failed' })
    expect((await get()).status).toBe(200)
  })

  it('refuse what would come to one that cannot be loaded; the others and the configuration stay', async () => {
    const broken = { ...plugin('broken', ['inbound-http'], ''), script: 'this is not a script' }
    await use([broken])
    expect((await get()).status).toBe(500)
    await use([plugin('late', ['inbound-http'], `throw new Error('while loading')`)])
    expect((await get()).status).toBe(500)
    const { script: _, ...refused } = plugin('refused', ['inbound-http'], '')
    await use([refused])
    expect((await get()).status).toBe(500)
    await use([])
    expect((await get()).status).toBe(200)
  })

  it('let TCP connections in, or not', async () => {
    const guard = (word: string): string => `export function connection(c, config) { return ${word} }`
    const greeting = async (): Promise<string> => {
      const connection = open(shop.at.clientTcp)
      await shop.until(() => connection.received() !== '' || connection.isClosed(), true, 'a greeting or an end')
      connection.socket.destroy()
      return connection.received()
    }
    await use([plugin('yes', ['inbound-tcp'], guard(`c.caller === 'client.demo.cluster.local'`))])
    expect(await greeting()).toBe('hello\n')
    await use([plugin('no', ['inbound-tcp'], guard('false'))])
    expect(await greeting()).toBe('')
    await use([], [plugin('loop', ['outbound-tcp'], `export function connection() { for (var i = 0; true; i++) {} }`)])
    expect(await greeting()).toBe('')
    await use([], [plugin('yes', ['outbound-tcp'], guard('undefined'))])
    expect(await greeting()).toBe('hello\n')
  })

  it('see answers, and count what they throw', async () => {
    const respond = (text: string): string => `export function response(a) { ${text} }`
    await use(
      [plugin('answers', ['inbound-http'], respond(`a.headers['x-answer'] = 'of ' + a.status`))],
      [plugin('fails', ['outbound-http'], respond(`throw new Error('no')`))],
    )
    const { status, headers } = await get()
    expect([status, headers['x-answer']]).toEqual([200, 'of 200'])
    const text = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
    expect(text).toMatch(/^sidecar_plugin_failures_total\{plugin="fails"\} 1$/m)
  })

  it('are told to the control plane when they fail, and no more when they are gone', async () => {
    const told = (faults: unknown): Promise<unknown> =>
      eventually(
        () => shop.channel.plugins(sidecarName('server')),
        (said) => JSON.stringify(said) === JSON.stringify(faults),
      )
    const late = plugin('late', ['inbound-http'], `throw new Error('while loading')`)
    await use([late, plugin('works', ['outbound-http'], 'export function request() {}')])
    // Why, Pipy says in its own log only.
    const error = `cannot import module: ${late.path}`
    await told([{ plugin: 'late', isLoaded: false, failures: 1, error }])
    await use([
      plugin('bad', ['inbound-http', 'inbound-tcp'], `export function request(r) { throw new Error('always') }`),
    ])
    await get()
    await get()
    await told([{ plugin: 'bad', isLoaded: true, failures: 2, error: 'always' }])
    await use([])
    await told([])
  })
})
