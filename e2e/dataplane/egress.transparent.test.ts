import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

import { testAuthority } from '../../packages/driver-envoy/test/xds/test-certificates.js'
import { inside, type Inside, type InsideAnswer, type Question } from './support/inside.js'
import { kernelTestObstacle } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { eventually } from './support/wait.js'
import { account, egress, ignoredNamespace, meshConfig, service, workload } from './support/yaml.js'

jest.setTimeout(60_000)

const authority = testAuthority('an outside authority')

/** Somebody outside the mesh, found as `<name>.outside`. */
function outside(
  name: string,
  program: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
): readonly string[] {
  return [
    service(`outside/${name}`, name, port, { headless: true }),
    workload(`outside/${name}`, {
      program,
      port,
      account: 'outside',
      sidecar: false,
      env: { HOST: '0.0.0.0', ...env },
    }),
  ]
}

function tlsOutside(name: string): readonly string[] {
  const { chain, privateKey } = authority.issue(`${name}.outside`)
  return outside(name, programs.tls, 443, { CERT: chain, KEY: privateKey })
}

const others = ['good', 'evil', 'secure', 'insecure', 'bank', 'casino'] as const

// What scenario files can't say: connections whose address and name differ, and addresses that are known only once everybody runs.
describe('egress by address and by name in transparent mode', () => {
  let mesh: TestMesh
  const at: Record<string, Inside> = {}
  const known = (name: string): Inside => {
    const found = at[name]
    if (found === undefined) throw new Error(`nobody is called ${name}`)
    return found
  }
  const ask = (question: Question, from = 'shop/client'): Promise<InsideAnswer> => known(from).ask(question)
  const address = (name: (typeof others)[number]): string => known(`outside/${name}`).address
  const request = (kind: 'http' | 'https', host: string, dial: (typeof others)[number]): Question => ({
    kind,
    dial: address(dial),
    port: kind === 'http' ? 80 : 443,
    host,
  })

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } })],
        'workloads.yaml': [
          account('shop/client'),
          account('shop/thief'),
          ignoredNamespace('outside'),
          account('outside/outside'),
          workload('shop/client', { program: programs.idle }),
          workload('shop/thief', { program: programs.idle }),
          ...outside('good', programs.http, 80),
          ...outside('evil', programs.http, 80),
          ...tlsOutside('secure'),
          ...tlsOutside('insecure'),
          ...outside('bank', programs.tcp, 9000, { BANNER: '220 bank' }),
          ...outside('casino', programs.tcp, 9000, { BANNER: '220 casino' }),
        ],
      },
      'transparent',
    )
    for (const name of ['shop/client', 'shop/thief', ...others.map((other) => `outside/${other}`)])
      at[name] = inside(mesh, name)
    await mesh.apply(
      'egress.yaml',
      egress('shop/hosts', {
        from: ['shop/client'],
        hosts: ['good.outside', '*.outside.svc.cluster.local'],
        ports: ['80/http'],
      }),
      egress('shop/names', {
        from: ['shop/client'],
        hosts: ['secure.outside', '*.outside.svc.cluster.local'],
        ports: ['443/https'],
      }),
      egress('shop/ranges', {
        from: ['shop/client'],
        ipAddresses: [`${address('bank')}/32`],
        ports: ['9000/tcp-server-first'],
      }),
    )
    // Sidecars look names up once they are told of them.
    for (const question of [request('http', 'good.outside', 'good'), request('https', 'secure.outside', 'secure')])
      await eventually(
        () => ask(question),
        ({ status }) => status === 200,
        { what: 'an answer from outside' },
      )
  }, 180_000)
  afterAll(async () => {
    await mesh.stop()
  }, 60_000)

  it.each(['good.outside', 'good.outside:80', 'good.outside.svc.cluster.local'])(
    'takes a request for %s there, wherever it was dialled to',
    async (host) => {
      for (const dial of ['good', 'evil'] as const)
        await expect(ask(request('http', host, dial))).resolves.toEqual({ status: 200, server: 'good' })
    },
  )

  it.each(['evil.outside', 'good.outside:443', 'good.outside.example', 'outside.svc.cluster.local', '127.0.0.1:15000'])(
    'answers 404 to a request for %s, wherever it was dialled to',
    async (host) => {
      for (const dial of ['good', 'evil'] as const)
        await expect(ask(request('http', host, dial))).resolves.toEqual({ status: 404 })
    },
  )

  it.each(['secure.outside', 'secure.outside.svc.cluster.local'])(
    'takes TLS with the server name %s there, wherever it was dialled to',
    async (host) => {
      for (const dial of ['secure', 'insecure'] as const)
        await expect(ask(request('https', host, dial))).resolves.toEqual({ status: 200, server: 'secure' })
    },
  )

  it('ends TLS with any other server name', async () => {
    for (const dial of ['secure', 'insecure'] as const)
      await expect(ask(request('https', 'insecure.outside', dial))).resolves.toEqual({ error: 'ECONNRESET' })
  })

  it('opens a range to its account, without waiting for the client to speak', async () => {
    const tcp = (name: (typeof others)[number]): Question => ({ kind: 'tcp', dial: address(name), port: 9000 })
    await expect(ask(tcp('bank'))).resolves.toEqual({ line: '220 bank' })
    await expect(ask(tcp('casino'))).resolves.toEqual({ error: expect.stringMatching(/^(closed|ECONNRESET)$/) })
    await expect(ask(tcp('bank'), 'shop/thief')).resolves.toEqual({ error: 'ECONNREFUSED' })
  })
})
