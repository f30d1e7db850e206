import { Resolver } from 'node:dns/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { freeAddresses } from './support/apps.js'
import { askOnce, dnsAnswer, type DnsServer, startDnsServer } from './support/dns-server.js'
import { Shop } from './support/shop.js'

const SERVER_FAILURE = 2
const NO_SUCH_NAME = 3
/** Longer than any load takes: two servers that say nothing cost four seconds already. */
const LONGEST_WAIT_MS = 120_000

const records = [
  { name: '*.shop', addresses: ['10.96.0.9'] },
  { name: 'headless.shop', addresses: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] },
  { name: 'store.shop.svc.cluster.local', addresses: ['10.96.0.1'] },
]

describe('the DNS proxy of a real sidecar', () => {
  let shop: Shop
  let server: DnsServer
  let silent: DnsServer
  let resolver: Resolver
  let listen = ''
  let nobody = ''

  beforeAll(async () => {
    shop = await Shop.open()
    ;[listen = '', nobody = ''] = await freeAddresses(2)
    silent = await startDnsServer(() => [])
    server = await startDnsServer((question, name) => {
      const right = dnsAnswer(question, 0, [192, 0, 2, 1])
      if (name.startsWith('none')) return [dnsAnswer(question, NO_SUCH_NAME)]
      if (!name.startsWith('forged')) return [right]
      // Somebody else is faster: once with another number, once for another question.
      const forged = dnsAnswer(question, 0, [192, 0, 2, 66])
      const other = Buffer.from(forged)
      forged[0] = (forged[0] ?? 0) ^ 1
      other[13] = 'x'.charCodeAt(0)
      return [forged, other, Buffer.from([1, 2, 3]), right]
    })
    resolver = new Resolver({ timeout: LONGEST_WAIT_MS, tries: 1 })
    resolver.setServers([listen])
    await apply([server.address])
  })
  afterAll(async () => {
    silent.stop()
    server.stop()
    await shop.stop()
  })

  async function apply(servers: readonly string[], of: typeof records = records): Promise<void> {
    const { refused } = await shop.give('client', {
      listen: { dns: listen },
      dns: { ttlSeconds: 600, records: of, servers },
    })
    expect(refused).toBeUndefined()
  }
  const code = (error: unknown): unknown => (error as { readonly code?: unknown }).code

  it('answers names of the mesh by itself', async () => {
    const asked = server.asked.length
    expect(await resolver.resolve4('STORE.shop.svc.cluster.local', { ttl: true })).toEqual([
      { address: '10.96.0.1', ttl: 600 },
    ])
    expect(await resolver.resolve4('any.thing.shop')).toEqual(['10.96.0.9'])
    expect(await resolver.resolve6('store.shop.svc.cluster.local').catch(code)).toBe('ENODATA')
    expect(await resolver.resolveTxt('store.shop.svc.cluster.local').catch(code)).toBe('ENODATA')
    expect(server.asked).toHaveLength(asked)
  })

  it('takes turns with the addresses of a name', async () => {
    const first = new Set<string | undefined>()
    for (let i = 0; i < 3; i += 1) {
      const addresses = await resolver.resolve4('headless.shop')
      expect(addresses.toSorted()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3'])
      first.add(addresses[0])
    }
    expect(first.size).toBe(3)
  })

  it('passes other names on, and what is said of them back', async () => {
    expect(await resolver.resolve4('www.example', { ttl: true })).toEqual([{ address: '192.0.2.1', ttl: 9 }])
    expect(await resolver.resolve4('none.example').catch(code)).toBe('ENOTFOUND')
    expect(await resolver.resolve4('shop')).toEqual(['192.0.2.1'])
    expect(server.asked).toEqual(expect.arrayContaining(['www.example', 'none.example', 'shop']))
  })

  it('believes no one else than the server that it has asked', async () => {
    expect(await resolver.resolve4('forged.example')).toEqual(['192.0.2.1'])
  })

  it('asks the next server where one is gone or says nothing, and says so where none is left', async () => {
    await apply([nobody, silent.address, server.address])
    expect(await askOnce(listen, 'second.example', LONGEST_WAIT_MS)).toBe(0)
    expect(silent.asked).toContain('second.example')
    // Who has said nothing comes last for a while.
    expect(await resolver.resolve4('third.example')).toEqual(['192.0.2.1'])
    expect(silent.asked).not.toContain('third.example')
    await apply([nobody])
    expect(await askOnce(listen, 'nobody.example', LONGEST_WAIT_MS)).toBe(SERVER_FAILURE)
    expect(await resolver.resolve4('headless.shop')).toHaveLength(3)
  })

  it('has so many questions wait for a server, and no more', async () => {
    // Together they hold a question for twelve seconds.
    const mute = await Promise.all(Array.from({ length: 6 }, () => startDnsServer(() => [])))
    await apply(mute.map(({ address }) => address))
    const waiting: Promise<number | undefined>[] = []
    for (let asked = 0; asked < 500; asked += 20) {
      // Not all at once: what does not fit into a socket is lost before anybody sees it.
      // They stay open while others ask: answers to one port come in order, and a later socket may get the port of one that is closed.
      for (let i = 0; i < 20; i += 1) waiting.push(askOnce(listen, `n${asked + i}.example`, 11_000))
      await shop.until(() => mute[0]?.asked.length, asked + 20, 'questions that wait')
    }
    const more = Array.from({ length: 5 }, (_, i) => askOnce(listen, `more${i}.example`, LONGEST_WAIT_MS))
    expect(await Promise.all(more)).toEqual(more.map(() => SERVER_FAILURE))
    expect(mute[0]?.asked).toHaveLength(500)
    await Promise.all(waiting)
    // When those have had their time, there is room for others.
    await apply([server.address])
    await shop.until(
      () => resolver.resolve4('later.example').catch(code).then(String),
      '192.0.2.1',
      'an answer of the server',
    )
    for (const each of mute) each.stop()
  })

  it('does what the newest configuration says, and nothing without one', async () => {
    await apply([server.address], [{ name: 'new.shop', addresses: ['10.96.0.7'] }])
    expect(await resolver.resolve4('new.shop')).toEqual(['10.96.0.7'])
    await shop.give('client', {})
    expect(await askOnce(listen, 'new.shop', 500)).toBeUndefined()
  })
})
