import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, service, withSpec, workload } from './support/yaml.js'

const permissive = meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })
/** A workload with a port of HTTP and one of bytes, under names. */
const server = (name: `${string}/${string}`, app: string, http: number, tcp: number): string =>
  withSpec(workload(name, { program: programs.httpAndTcp, account: app, app }), {
    ports: [
      { name: 'web', port: http },
      { name: 'bytes', port: tcp },
    ],
    env: Object.entries({ NAME: name.split('/')[1], HOST: '0.0.0.0', PORT_HTTP: http, PORT_TCP: tcp }).map(
      ([key, value]) => ({ name: key, value: String(value) }),
    ),
  })

describe('forms of Services that are in use', () => {
  let mesh: TestMesh
  let client: Inside

  const get = (dial: string, port: number) => client.ask({ kind: 'http', dial, port, host: `${dial}:${port}` })
  const say = (dial: string, port: number) => client.ask({ kind: 'tcp', dial, port, say: 'hello' })
  const serversOf = async (dial: string, port: number): Promise<readonly (string | undefined)[]> => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => get(dial, port)))
    return [...new Set(answers.map((answer) => answer.server ?? answer.error))].sort()
  }

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [permissive],
        'shop.yaml': [
          ...['client', 'mixed', 'base'].map((name) => account(`shop/${name}`)),
          workload('shop/client', { program: programs.idle }),
          server('shop/first', 'mixed', 8080, 9000),
          server('shop/second', 'mixed', 8090, 9010),
          withSpec(service('shop/mixed', 'mixed', 80), {
            ports: [
              { name: 'http', port: 80, targetPort: 'web' },
              { name: 'http-again', port: 8000, targetPort: 'web' },
              { name: 'tcp-bytes', port: 81, targetPort: 'bytes' },
              { name: 'dns', port: 80, targetPort: 53, protocol: 'UDP' },
              { name: 'signals', port: 81, targetPort: 3868, protocol: 'SCTP' },
            ],
          }),
          withSpec(service('shop/twin', 'mixed', 80), { ports: [{ name: 'http', port: 80, targetPort: 'web' }] }),
          // The same port as the port of HTTP above.
          withSpec(service('shop/opaque', 'mixed', 82), {
            ports: [{ name: 'bytes', port: 82, targetPort: 'web', appProtocol: 'tcp' }],
          }),
          server('shop/base', 'base', 8080, 5432),
          withSpec(service('shop/base', 'base', 80, { headless: true }), {
            ports: [
              { name: 'http', port: 80, targetPort: 8080 },
              { name: 'tcp-bytes', port: 5433, targetPort: 5432 },
            ],
          }),
        ],
      },
      { mode: 'transparent' },
    )
    client = inside(mesh, 'shop/client')
    for (const dial of ['mixed.shop', 'base.shop'])
      await eventually(
        () => get(dial, 80),
        ({ status }) => status === 200,
        { what: `an answer of ${dial}` },
      )
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it.each([
    ['a Service', 'mixed.shop', 80],
    ['another port of it that leads to the same', 'mixed.shop', 8000],
    ['another Service before the same workloads', 'twin.shop', 80],
  ])('leads from %s to ports of one name with other numbers', async (_, dial, port) => {
    await eventually(
      () => serversOf(dial, port),
      (all) => all.join() === 'first,second',
      { what: 'answers of both workloads' },
    )
  })

  it('leads to a port by the protocol of the Service that was called', async () => {
    const answer = await eventually(
      () => client.ask({ kind: 'tcp', dial: 'opaque.shop', port: 82, say: 'GET / HTTP/1.1\r\nHost: Any-Case\r\n\r' }),
      ({ line }) => line !== undefined,
      { what: 'an answer of the opaque port' },
    )
    expect(answer.line).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(await serversOf('mixed.shop', 80)).toEqual(['first', 'second'])
  })

  it('leads a workload to itself by its Service and by its address', async () => {
    const base = inside(mesh, 'shop/base')
    for (const dial of ['base.shop', base.address, '127.0.0.1']) {
      expect(await base.ask({ kind: 'http', dial, port: 8080, host: 'base.shop' })).toEqual({
        status: 200,
        server: 'base',
      })
      expect((await base.ask({ kind: 'tcp', dial, port: 5432, say: 'hello' })).line).toMatch(/^base/)
    }
  })

  it('carries TCP beside UDP and SCTP of the same number', async () => {
    expect((await say('mixed.shop', 81)).line).toMatch(/^(first|second)/)
  })

  it.each(['base.shop', 'base-0.base.shop'])(
    'leads from %s, which is headless, to the port of the workload',
    async (dial) => {
      expect(await get(dial, 8080)).toEqual({ status: 200, server: 'base' })
      expect((await say(dial, 5432)).line).toMatch(/^base/)
    },
  )
})
