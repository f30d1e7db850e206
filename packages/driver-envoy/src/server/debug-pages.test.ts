import { describe, expect, it } from '@jest/globals'
import type { DebugResponse, ProxyRef } from '@osm-ts/driver-api'

import { EnvoyHost } from '../../test/xds/envoy-host.js'
import { DebugPages } from './debug-pages.js'
import { PushHistory } from './state/push-history.js'
import { type LiveStream, StreamRegistry } from './stream-registry.js'
import { pushOrder } from './xds-types.js'

const STREAMS = 10_000
/** Proxies of each namespace. */
const PER_NAMESPACE = 100
/** Most characters of a page: its bound, and the item that reaches it. */
const MAX_TEXT = (4 << 20) + (64 << 10)

function streamAt(at: number): LiveStream {
  const history = new PushHistory()
  for (const type of pushOrder)
    for (let push = 0; push < 20; push += 1)
      history.add(type, {
        sentAt: push,
        version: 'v'.repeat(16),
        nonce: `${push}`,
        resources: 1,
        removed: 0,
        bytes: 100,
        outcome: 'ack',
      })
  const namespace = `ns-${Math.floor(at / PER_NAMESPACE)}`
  const proxy = { uuid: `u-${at}`, identity: `a-${at}`, namespace, session: `s-${at}` } as unknown as ProxyRef
  const session = { proxy, history, variant: 'delta', connectedAt: '2026-01-01T00:00:00Z', settled: true } as const
  return { session: { ...session, resources: undefined }, evict: () => undefined }
}

describe('debug pages of ten thousand streams', () => {
  const host = new EnvoyHost()
  const streams = new StreamRegistry()
  // All streams show the same history: a page reads each of them all the same.
  const { history } = streamAt(0).session
  for (let at = 0; at < STREAMS; at += 1) {
    const { session, evict } = streamAt(at)
    streams.add({ session: { ...session, history }, evict })
  }
  new DebugPages(streams, new AbortController().signal).register(host.context().debugHandlers)

  /** Also the turns that others had meanwhile. */
  async function page(path: string, query = {}): Promise<{ answer: DebugResponse; list: unknown[]; turns: number }> {
    let turns = 0
    let immediate = setImmediate(function count() {
      turns += 1
      immediate = setImmediate(count)
    })
    const answer = await host.page(path, query)
    clearImmediate(immediate)
    return { answer, list: JSON.parse(answer.body) as unknown[], turns }
  }

  it.each(['/debug/proxy', '/debug/xds'])('%s is bounded, and says what it leaves out', async (path) => {
    const { answer, list } = await page(path)
    expect(answer.body.length).toBeLessThan(MAX_TEXT)
    const shown = list.length - 1
    expect(shown).toBeGreaterThan(0)
    const note = `${STREAMS - shown} of ${STREAMS} proxies are not shown; select others by ?namespace=, ?uuid=, ?identity=, ?offset=${shown}`
    expect(list.at(-1)).toEqual({ omitted: STREAMS - shown, note })
  })

  it('lets others have their turn while it is made', async () => {
    expect((await page('/debug/xds')).turns).toBeGreaterThan(1)
  })

  it('lists the proxies of a namespace', async () => {
    const { list } = await page('/debug/proxy', { namespace: 'ns-7' })
    expect(list).toHaveLength(PER_NAMESPACE)
    expect(list[0]).toMatchObject({ uuid: 'u-700', namespace: 'ns-7' })
  })
})
