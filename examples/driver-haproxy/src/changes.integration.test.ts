import { Agent } from 'node:http'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { called, type CalledService, everybody, served } from '@osm-ts/driver-testkit'

import { keepFigures } from '../test/figures.js'
import { underLoad } from '../test/load.js'
import { ask, freePort, MeshFixture, type Sidecar } from '../test/mesh.js'

const CHANGES = 100
/** Connections of the application to its sidecar that stay open between requests. */
const CONNECTIONS = 8
/** Against hanging: two dozen reloads take a while where others use the machine too. */
const TIMEOUT_MS = 180_000

describe('changes under load', () => {
  const fixture = new MeshFixture()
  const ports: number[] = []
  let http = 0
  let client: Sidecar

  beforeAll(async () => {
    await fixture.start()
    http = await freePort()
    fixture.certify('buyer')
    fixture.certify('one', ['one', 'two'])
    client = await fixture.sidecar('buyer')
    for (const name of ['a', 'b', 'c']) {
      const sidecar = await fixture.sidecar('one')
      ports.push(await freePort())
      const application = await fixture.application(name)
      await fixture.apply(sidecar, 'one', served('one', ports.at(-1)!, application, [{ allow: everybody }]))
    }
    await fixture.apply(client, 'buyer', policy([ports[0]!]))
  })
  afterAll(async () => fixture.stop())

  function policy(endpoints: readonly number[], others: readonly CalledService[] = []) {
    const listen = { outboundHttp: { address: '127.0.0.1', port: http } }
    return called([{ name: 'one', endpoints }, ...others], { listen })
  }

  it('send endpoints that come and go to the same worker, and take them at once', async () => {
    const worker = await client.worker()
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await fixture.apply(client, 'buyer', policy([ports[index]!]))
      expect(await ask(http, 'one.default', '/')).toMatchObject({ status: 200, body: `${name} /` })
    }
    await fixture.apply(client, 'buyer', policy([]))
    expect(await ask(http, 'one.default', '/')).toMatchObject({ status: 503 })
    await fixture.apply(client, 'buyer', policy(ports))
    const answers = await Promise.all(Array.from({ length: 30 }, async () => ask(http, 'one.default', '/')))
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['a /', 'b /', 'c /']))
    expect(await client.worker()).toBe(worker)
  })

  it('share requests by weight, and take other weights with the same worker', async () => {
    const name = 'one.default.svc.cluster.local'
    const tls = { mode: 'mesh', serverName: name, principals: ['one.default.cluster.local' as never] } as const
    const split = async (left: number, one: number) => {
      const targets = [
        { upstream: 'default/left|8080', weight: left },
        { upstream: 'default/one|8080', weight: one },
      ]
      const shares = { rules: { kind: 'http', routes: [{ match: {}, targets, timeoutMs: 0 }] } } as const
      const others: CalledService[] = [
        { name: 'apex', endpoints: [], outbound: shares },
        { name: 'left', endpoints: [ports[1]!], upstream: { tls } },
      ]
      await fixture.apply(client, 'buyer', policy([ports[0]!], others))
    }
    const answered = async (count: number) => {
      const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
      const answers = await Promise.all(
        Array.from({ length: count }, async () => ask(http, 'apex.default', '/', { agent })),
      )
      agent.destroy()
      return answers.map(({ status, body }) => `${status} ${body.slice(0, 1)}`)
    }
    await split(80, 20)
    const worker = await client.worker()
    const answers = await answered(500)
    // 400 of 500 are expected; five standard deviations are 45.
    const shareOfLeft = answers.filter((answer) => answer === '200 b').length
    expect(shareOfLeft).toBeGreaterThan(355)
    expect(shareOfLeft).toBeLessThan(445)
    expect(answers.filter((answer) => answer === '200 a')).toHaveLength(500 - shareOfLeft)
    for (const [left, one, expected] of [
      [0, 7, '200 a'],
      [7, 0, '200 b'],
      [0, 0, '503 <'],
      [0, 1, '200 a'],
    ] as const) {
      await split(left, one)
      expect(new Set(await answered(20))).toEqual(new Set([expected]))
    }
    expect(await client.worker()).toBe(worker)
  })

  it(
    'lose no request, be it endpoints that change or services',
    async () => {
      await fixture.apply(client, 'buyer', policy([ports[0]!]))
      const first = await client.worker()
      const times: number[] = []
      const { sent, lost } = await underLoad(
        http,
        'one.default',
        { connections: CONNECTIONS, methods: ['GET'] },
        async () => {
          for (let change = 0; change < CHANGES; change += 1) {
            // Endpoints each time, and every fourth time a service that comes or goes.
            const others = Math.floor(change / 4) % 2 === 0 ? [] : [{ name: 'two', endpoints: [ports[2]!] }]
            const endpoints = [ports[change % 3]!, ...(change % 2 === 0 ? [] : [ports[(change + 1) % 3]!])]
            const start = performance.now()
            await fixture.apply(client, 'buyer', policy(endpoints, others))
            times.push(performance.now() - start)
          }
        },
      )
      expect({ lost: lost.slice(0, 5), count: lost.length }).toEqual({ lost: [], count: 0 })
      expect(sent).toBeGreaterThan(CHANGES)
      // New services took reloads.
      expect(await client.worker()).not.toBe(first)
      await keepFigures(times, sent)
    },
    TIMEOUT_MS,
  )
})
