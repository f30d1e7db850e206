import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { Oracle } from '@osm-ts/oracle'

import { testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { outcomeOf, verdictOnDialled } from './support/differential/dialled.js'
import { parsed } from './support/differential/topology.js'
import { inside, type Inside, type InsideAnswer, type Question } from './support/inside.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, egress, ignoredNamespace, meshConfig, routeGroup, service, workload } from './support/yaml.js'

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

const app = (name: string): string => fileURLToPath(new URL(`./support/apps/${name}.mjs`, import.meta.url))

const others = ['good', 'evil', 'secure', 'insecure', 'bank', 'casino', 'fickle'] as const

// What scenario files can't say: connections whose address and name differ, and addresses that are known only once everybody runs.
describe('egress by address and by name in transparent mode', () => {
  let mesh: TestMesh
  const at: Record<string, Inside> = {}
  const known = (name: string): Inside => {
    const found = at[name]
    if (found === undefined) throw new Error(`there is no workload ${name}`)
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
          ...outside('fickle', app('raw-http-server'), 80, { PORT: '80' }),
        ],
      },
      { mode: 'transparent' },
    )
    for (const name of ['shop/client', 'shop/thief', ...others.map((other) => `outside/${other}`)])
      at[name] = inside(mesh, name)
    await mesh.apply(
      'egress.yaml',
      egress('shop/hosts', {
        from: ['shop/client'],
        hosts: ['good.outside', 'fickle.outside', '*.outside.svc.cluster.local'],
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
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it.each([
    'good.outside',
    'good.outside:80',
    'good.outside.',
    'good.outside.:80',
    'good.outside.svc.cluster.local',
    'good.outside.svc.cluster.local.',
  ])('takes a request for %s there, wherever it was dialled to', async (host) => {
    for (const dial of ['good', 'evil'] as const)
      await expect(ask(request('http', host, dial))).resolves.toEqual({ status: 200, server: 'good' })
  })

  it.each(['evil.outside', 'good.outside:443', 'good.outside.example', 'outside.svc.cluster.local', '127.0.0.1:15000'])(
    'answers 404 to a request for %s, wherever it was dialled to',
    async (host) => {
      for (const dial of ['good', 'evil'] as const)
        await expect(ask(request('http', host, dial))).resolves.toEqual({ status: 404 })
    },
  )

  it('answers requests that change nothing although a server there ends connections without saying so', () => {
    const request = (line: string): string => `${line} HTTP/1.1\r\nHost: fickle.outside\r\n\r\n`
    const many = Array.from({ length: 150 }, (_, index) => request(`${index % 2 === 0 ? 'GET' : 'HEAD'} /once`))
    const say = [...many, request('GET /last')]
    const argument = JSON.stringify({ host: 'fickle.outside', port: 80, say, until: 'GET /last' })
    const namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
    const answers = run('ip', ['netns', 'exec', namespace, process.execPath, app('raw-client'), argument])
    expect(answers).not.toContain('503')
    expect(answers.split('HTTP/1.1 200 OK')).toHaveLength(many.length + 2)
  })

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

  // The last test: it changes the policy of the mesh.
  it('treats names and addresses as the oracle decides', async () => {
    const from = ['shop/client'] as const
    const config = (enableEgress: boolean): string =>
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress } })
    const only = (name: 'bank' | 'good' | 'secure'): string => `${address(name)}/32`
    const policies: readonly (readonly string[])[] = [
      // Names and a range side by side.
      [
        config(false),
        egress('shop/hosts', { from, hosts: ['good.outside'], ports: ['80/http'] }),
        egress('shop/names', { from, hosts: ['secure.outside'], ports: ['443/https'] }),
        egress('shop/ranges', {
          from,
          ipAddresses: [only('good'), only('bank'), only('secure')],
          ports: ['80/tcp', '9000/tcp'],
        }),
      ],
      // Every address and every server name.
      [
        config(false),
        egress('shop/hosts', { from, ports: ['80/tcp', '9000/tcp-server-first'] }),
        egress('shop/names', { from, hosts: ['*'], ports: ['443/https'] }),
      ],
      // Every address, where hosts or servers that speak first are in the way.
      [
        config(false),
        egress('shop/every', { from, ports: ['80/tcp'] }),
        egress('shop/hosts', { from, hosts: ['good.outside'], ports: ['80/http'] }),
        egress('shop/names', { from, hosts: ['*.outside'], ports: ['443/https'] }),
        egress('shop/ranges', { from, ipAddresses: [only('secure')], ports: ['443/tcp-server-first'] }),
      ],
      // Everything but what is named, and limited by it.
      [
        config(true),
        routeGroup('shop/reading', [{ name: 'read', pathRegex: '/read' }]),
        egress('shop/hosts', { from, hosts: ['good.outside'], ports: ['80/http'], routes: ['reading'] }),
        egress('shop/names', { from, hosts: ['secure.outside'], ports: ['443/https'] }),
      ],
    ]
    const questions: readonly (readonly [string, Question])[] = [
      ...(['good', 'evil'] as const).flatMap((dial) =>
        ['good.outside', 'evil.outside'].map((host) => ['shop/client', request('http', host, dial)] as const),
      ),
      ...(['secure', 'insecure'] as const).flatMap((dial) =>
        ['secure.outside', 'insecure.outside'].map((host) => ['shop/client', request('https', host, dial)] as const),
      ),
      ...(['bank', 'casino'] as const).map(
        (name) => ['shop/client', { kind: 'tcp', dial: address(name), port: 9000 }] as const,
      ),
      ['shop/client', { kind: 'http', dial: address('good'), port: 80, host: 'good.outside', path: '/read' }],
      ['shop/thief', request('http', 'good.outside', 'good')],
      ['shop/thief', request('https', 'secure.outside', 'secure')],
    ]
    const counts = { allow: 0, deny: 0 }
    // From here on one file has all of it, so that all of it changes at once.
    await mesh.write('config.yaml')
    for (const [index, [configuration = '', ...documents]] of policies.entries()) {
      const oracle = new Oracle(parsed([configuration, ...documents]))
      await mesh.apply('egress.yaml', configuration, ...documents)
      for (const [who, question] of questions) {
        const [namespace = '', name = ''] = who.split('/')
        const expected = verdictOnDialled(oracle, { namespace, name }, question)
        counts[expected] += 1
        // A sidecar follows its policy a moment after it has acknowledged it, and looks names up then.
        await eventually(
          () => ask(question, who),
          (answer) => outcomeOf(answer) === expected,
          { what: `${expected} under policy ${index} for ${who} with ${JSON.stringify(question)}` },
        )
      }
    }
    expect(counts.allow).toBeGreaterThan(10)
    expect(counts.deny).toBeGreaterThan(10)
  })
})
