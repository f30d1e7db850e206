import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { testAuthority } from '@osm-ts/driver-testkit'

import { CONTROL_PLANE, sidecarName } from './support/base-config.js'
import { through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

/** Longer than a poll of the tests waits. */
const POLL_IS_OVER_MS = 7_000

describe('real sidecars that live long', () => {
  const client = sidecarName('client')
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterAll(async () => {
    await shop.stop()
  })

  const get = async (): Promise<number> => (await through(shop.at.proxy, 'http://server.demo:8080/books/1')).status

  it('ask with the newest certificate, and trust both roots while one takes the place of the other', async () => {
    const next = testAuthority('the next control plane')
    const before = shop.channel.serials(client).size
    const both = [shop.control.certificate, next.certificate]
    await shop.workers.client.renew(next.issue(client), both)
    await shop.workers.server.renew(next.issue(sidecarName('server')), both)
    shop.channel.rotate(next.issue(CONTROL_PLANE), both)
    await shop.until(() => shop.channel.serials(client).size, before + 1, 'a poll with the new certificate')
    await shop.apply({ ...clientConfig(shop), idleMs: 50_000 }, serverConfig(shop))
    expect(await get()).toBe(200)
  })

  it('continue with what they have while files do not fit together', async () => {
    const broken = { ...shop.control.issue(client), privateKey: 'no key' }
    await shop.workers.client.renew(broken, ['no root'])
    await shop.until(() => shop.workers.client.output().includes('not usable'), true, 'words about it')
    await shop.apply({ ...clientConfig(shop), idleMs: 40_000 }, serverConfig(shop))
  })

  it('ask once, not once for each time that their scripts were loaded', async () => {
    const server = sidecarName('server')
    await shop.until(() => shop.channel.waiting(server), 1, 'a poll')
    for (let times = 1; times <= 3; times += 1) {
      shop.workers.server.reload()
      await shop.until(() => shop.workers.server.output().split('Codebase reloaded').length > times, true, 'a reload')
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_IS_OVER_MS))
    expect(shop.channel.waiting(server)).toBe(1)
    await shop.apply({ ...clientConfig(shop), idleMs: 30_000 }, serverConfig(shop))
    expect(await get()).toBe(200)
  })
})
