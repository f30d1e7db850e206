import { describe, expect, it } from '@jest/globals'

import type { KeyPair } from './key-pair.js'
import { RsaKeyPool } from './rsa-key-pool.js'

/** Makes keys when the test says so. */
function workshop() {
  const orders: { resolve(key: KeyPair): void; reject(error: Error): void }[] = []
  let made = 0
  let mostAtOnce = 0
  return {
    generate: () =>
      new Promise<KeyPair>((resolve, reject) => {
        orders.push({ resolve, reject })
        mostAtOnce = Math.max(mostAtOnce, orders.length)
      }),
    async finish(): Promise<void> {
      made += 1
      orders.shift()?.resolve({ algorithm: 'RSA', publicKey: Buffer.alloc(0), privateKey: `key ${made}` })
      await Promise.resolve()
      await Promise.resolve()
    },
    async fail(error: Error): Promise<void> {
      orders.shift()?.reject(error)
      await Promise.resolve()
      await Promise.resolve()
    },
    get underWay() {
      return orders.length
    },
    get mostAtOnce() {
      return mostAtOnce
    },
  }
}

describe('a pool of RSA keys', () => {
  it('makes nothing before it is asked, two at a time, and four ahead', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    expect(shop.underWay).toBe(0)
    const first = pool.take()
    let made = 0
    while (shop.underWay > 0) {
      await shop.finish()
      made += 1
    }
    expect(made).toBe(5)
    expect(shop.mostAtOnce).toBe(2)
    expect((await first).privateKey).toBe('key 1')
    const ready = await Promise.all([pool.take(), pool.take(), pool.take(), pool.take()])
    expect(ready.map(({ privateKey }) => privateKey)).toEqual(['key 2', 'key 3', 'key 4', 'key 5'])
  })

  it('serves those that wait in their order, each with its own key', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    const all = Promise.all(Array.from({ length: 20 }, () => pool.take()))
    for (let made = 0; made < 20; made += 1) await shop.finish()
    expect((await all).map(({ privateKey }) => privateKey)).toEqual(
      Array.from({ length: 20 }, (_, index) => `key ${index + 1}`),
    )
    expect(shop.mostAtOnce).toBe(2)
  })

  it('hands a failure to the one that waits longest, and continues for the others', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    const outcomes = Promise.allSettled([pool.take(), pool.take(), pool.take()])
    await shop.fail(new Error('no entropy'))
    await shop.finish()
    await shop.finish()
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  })

  it('survives a failure while no one waits', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    const first = pool.take()
    await shop.finish()
    await first
    while (shop.underWay > 0) await shop.fail(new Error('no entropy'))
    const next = pool.take()
    await shop.finish()
    expect(await next).toMatchObject({ algorithm: 'RSA' })
  })

  it('bounds how many wait', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    const waiting = Promise.allSettled(Array.from({ length: 4096 }, () => pool.take()))
    await expect(pool.take()).rejects.toMatchObject({ code: 'OSM_CERT_ISSUE' })
    pool.close()
    for (const outcome of await waiting)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'OSM_CERT_CLOSED' } })
  })

  it('forgets its keys when it is closed', async () => {
    const shop = workshop()
    const pool = new RsaKeyPool(2048, shop.generate)
    const first = pool.take()
    await shop.finish()
    await first
    pool.close()
    await expect(pool.take()).rejects.toMatchObject({ code: 'OSM_CERT_CLOSED' })
    while (shop.underWay > 0) await shop.finish()
    expect(shop.underWay).toBe(0)
  })
})
