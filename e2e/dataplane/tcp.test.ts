import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, programs, startTestMesh } from './support/mesh.js'
import { type OpenConnection, openTcp, openUpgrade } from './support/traffic.js'
import { shopPolicy, shopSplit, shopWorkloads } from './support/shop.js'
import { account, meshConfig, routeGroup, service, tcpRoute, trafficTarget, workload } from './support/yaml.js'

const allow = (from: readonly `${string}/${string}`[]): readonly string[] => [
  tcpRoute('data/ports', [9000, 9001]),
  trafficTarget('data/echo', { to: 'data/echo', from, rules: [{ kind: 'TCPRoute', name: 'ports' }] }),
]

/** Short, so that a test can wait for it. */
const WITHDRAWAL_MS = 2000
const WITHDRAWAL = `${WITHDRAWAL_MS}ms`

describe('TCP policy on real Envoys', () => {
  let mesh: TestMesh
  const open: OpenConnection[] = []
  const dial = (from: string, address = mesh.tcpAddress(from, 'echo_data_9000')): OpenConnection => {
    const connection = openTcp(address)
    open.push(connection)
    return connection
  }

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: {
            enablePermissiveTrafficPolicyMode: false,
            enableEgress: false,
            policyWithdrawalTimeout: WITHDRAWAL,
          },
        }),
      ],
      'workloads.yaml': [
        ...shopWorkloads,
        account('data/echo'),
        workload('data/echo', { program: programs.tcp, port: 9000 }),
        service('data/echo', 'echo', 9000, { protocol: 'tcp' }),
        account('data/mail'),
        workload('data/mail', { program: programs.tcp, port: 9001, env: { BANNER: '220 ready' } }),
        service('data/mail', 'mail', 9001, { protocol: 'tcp-server-first' }),
      ],
      'policy.yaml': [...shopPolicy(), routeGroup('shop/unused', [{ name: 'none', pathRegex: '/none' }])],
      'split.yaml': shopSplit({ 'store-v1': 1 }),
      'tcp.yaml': [
        ...allow(['shop/client', 'shop/thief']),
        trafficTarget('data/mail', {
          to: 'data/mail',
          from: ['shop/client'],
          rules: [{ kind: 'TCPRoute', name: 'ports' }],
        }),
      ],
    })
  })
  afterAll(async () => {
    for (const { socket } of open) socket.destroy()
    await mesh.stop()
  })

  it('accepts only the allowed caller', async () => {
    await expect(dial('shop/client').ask('hello')).resolves.toBe('hello')
    await expect(dial('shop/thief').ask('hello')).resolves.toBe('hello')
    await expect(dial('shop/lonely').ask('hello')).resolves.toBe('closed')
  })

  it('lets a server speak first, without a pause for sniffing', async () => {
    const start = performance.now()
    const connection = dial('shop/client', mesh.tcpAddress('shop/client', 'mail_data_9001'))
    const banner = await eventually(
      () => connection.received(),
      (text) => text.includes('\n') || connection.ended(),
      { what: 'the banner' },
    )
    expect(banner).toBe('220 ready\n')
    // Envoy's own time limit for sniffing is 15 s.
    expect(performance.now() - start).toBeLessThan(5000)
  })

  it('leaves open connections alone when a caller is added', async () => {
    const client = dial('shop/client')
    await expect(client.ask('before')).resolves.toBe('before')
    await mesh.apply('tcp.yaml', ...allow(['shop/client', 'shop/thief', 'shop/lonely']))
    await eventually(
      async () => dial('shop/lonely').ask('now'),
      (answer) => answer === 'now',
      { what: 'the added caller' },
    )
    // Longer than what a withdrawal leaves to open connections.
    const end = performance.now() + 2 * WITHDRAWAL_MS
    while (performance.now() < end) {
      await expect(client.ask('still here')).resolves.toBe('still here')
      await pause(100)
    }
  })

  it('ends open TCP connections of a caller whose rule is withdrawn', async () => {
    const thief = dial('shop/thief')
    await expect(thief.ask('before')).resolves.toBe('before')
    await mesh.write('tcp.yaml', ...allow(['shop/client']))
    await eventually(
      () => thief.ended(),
      (ended) => ended,
      { what: 'the end of the connection' },
    )
    await eventually(
      async () => dial('shop/thief').ask('after'),
      (answer) => answer === 'closed',
      { what: 'a refusal' },
    )
    await eventually(
      async () => dial('shop/client').ask('still here'),
      (answer) => answer === 'still here',
      { what: 'the other caller' },
    )
  })

  it('ends upgraded streams of a caller whose rule is withdrawn', async () => {
    const stream = await openUpgrade(mesh.proxyOf('shop/client'), 'http://store.shop:8080/stream')
    open.push(stream)
    await expect(stream.ask('ping')).resolves.toBe('ping')
    const withoutStream = shopPolicy().map((document) => document.replaceAll('"stream"', '"read"'))
    await mesh.write('policy.yaml', ...withoutStream)
    await eventually(
      () => stream.ended(),
      (ended) => ended,
      { what: 'the end of the stream' },
    )
  })
})
