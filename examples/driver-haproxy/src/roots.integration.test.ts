import { connect } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { called, everybody, served, testAuthority, type TestPolicy, together } from '@osm-ts/driver-testkit'

import { handshake } from '../test/handshake.js'
import { underLoad } from '../test/load.js'
import { ask, freePort, MeshFixture, type Sidecar, until } from '../test/mesh.js'

/** Against hanging: reloads take a while where others use the machine too. */
const TIMEOUT_MS = 120_000

describe('a rotation of the root under load', () => {
  const fixture = new MeshFixture()
  const former = fixture.host.services
  const next = testAuthority('services, the next')
  let http = 0
  let tcp = 0
  let inbound = { shop: 0, db: 0 }
  let client: Sidecar
  let server: Sidecar
  let calls: TestPolicy
  let serves: TestPolicy

  beforeAll(async () => {
    await fixture.start()
    inbound = { shop: await freePort(), db: await freePort() }
    http = await freePort()
    tcp = await freePort()
    certify(former)
    client = await fixture.sidecar('buyer')
    server = await fixture.sidecar('shop')
    serves = together(
      served('shop', inbound.shop, await fixture.application('shop'), [{ allow: everybody }]),
      served('db', inbound.db, await fixture.echo('db'), everybody, { protocol: 'tcp' }),
    )
    const targets = [{ upstream: 'default/db|8080', weight: 1 }]
    calls = called(
      [
        {
          name: 'db',
          endpoints: [inbound.db],
          outbound: { protocol: 'tcp', rules: { kind: 'tcp', targets } },
          upstream: { protocol: 'tcp' },
        },
        { name: 'shop', endpoints: [inbound.shop] },
      ],
      {
        listen: { outboundHttp: { address: '127.0.0.1', port: http } },
        outboundBindings: [{ id: 'default/db|80', listen: { address: '127.0.0.1', port: tcp } }],
      },
    )
    await trust(former)
  }, TIMEOUT_MS)
  afterAll(async () => fixture.stop())

  function certify(authority: typeof former): readonly string[] {
    return [
      fixture.certify('buyer', [], authority).serialNumber,
      fixture.certify('shop', ['shop', 'db'], authority).serialNumber,
    ]
  }

  async function trust(...authorities: readonly (typeof former)[]): Promise<void> {
    const roots = authorities.map(({ certificate }) => certificate)
    await Promise.all([fixture.apply(server, 'shop', serves, roots), fixture.apply(client, 'buyer', calls, roots)])
  }

  it(
    'loses no request, leaves connections alone until the former root goes, and then ends them',
    async () => {
      const socket = connect(tcp, '127.0.0.1')
      let closed = false
      socket.once('close', () => (closed = true))
      await new Promise((resolve) => socket.once('data', resolve))
      const { sent, lost } = await underLoad(
        http,
        'shop.default',
        { connections: 8, methods: ['GET', 'POST'] },
        async () => {
          await trust(former, next)
          const serials = certify(next)
          await until(
            () => `certificates ${serials.join()} in force`,
            async () => (await Promise.all([client.serial(), server.serial()])).join() === serials.join(),
          )
          expect(closed).toBe(false)
          await trust(next)
          await until(
            () => 'the end of what the former root let in',
            () => closed,
          )
        },
      )
      expect({ lost: lost.slice(0, 5), count: lost.length }).toEqual({ lost: [], count: 0 })
      expect(sent).toBeGreaterThan(8)
      expect(await ask(http, 'shop.default', '/')).toMatchObject({ status: 200 })
    },
    TIMEOUT_MS,
  )

  it('ends trust in the former root', async () => {
    const answer = async (authority: typeof former) => {
      const { chain, privateKey } = authority.issue('buyer.default.cluster.local')
      return handshake(inbound.shop, 'shop.default.svc.cluster.local', chain, privateKey)
    }
    expect(await answer(former)).toBe('')
    expect(await answer(next)).toMatch(/^HTTP\/1.1 200/)
  })
})
