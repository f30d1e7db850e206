import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { throughProxy } from '../dataplane/support/traffic.js'
import {
  account,
  egress,
  egressGateway,
  meshConfig,
  type Qualified,
  service,
  tcpRoute,
  trafficTarget,
  workload,
} from '../dataplane/support/yaml.js'
import { classed, classes, type SidecarClass } from './support/classes.js'

/** A client, one that the gateways of the other class do not let in, and a gateway. */
function side(own: SidecarClass): readonly string[] {
  const name = (role: string): Qualified => `${own}/${role}`
  return [
    ...['client', 'thief', 'gateway'].map((role) => account(name(role))),
    ...['client', 'thief'].map((role) => classed(own, workload(name(role), { program: programs.idle }))),
    classed(own, workload(name('gateway'), { program: programs.gateway, port: 1080 })),
    service(name('gateway'), 'gateway', 1080, { protocol: 'tcp' }),
    tcpRoute(name('tunnels'), [1080]),
  ]
}

describe('gateways in a mesh with sidecars of class envoy and of class pipy', () => {
  let mesh: TestMesh
  let asked = 0
  const books = createServer((_request, response) => {
    asked += 1
    response.end('books')
  })
  const port = (): number => (books.address() as AddressInfo).port

  /** The clients of a class leave through the gateway of another. */
  const policy = (from: SidecarClass, to: SidecarClass, callers: readonly string[]): readonly string[] => [
    egress(`${from}/books`, {
      from: [`${from}/client`, `${from}/thief`],
      hosts: ['books.test'],
      ports: [`${port()}/http`],
    }),
    egressGateway(`${from}/ways`, `${from}/books`, `${to}/gateway`),
    trafficTarget(`${to}/gateway`, {
      to: `${to}/gateway`,
      from: callers.map((caller): Qualified => `${from}/${caller}`),
      rules: [{ kind: 'TCPRoute', name: 'tunnels' }],
    }),
  ]
  const policies = (callers: readonly string[]): readonly string[] => [
    ...policy('envoy', 'pipy', callers),
    ...policy('pipy', 'envoy', callers),
  ]

  beforeAll(async () => {
    await new Promise<void>((resolve) => books.listen(0, '127.0.0.1', resolve))
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, policyWithdrawalTimeout: '1s' },
          sidecar: { sidecarClass: 'envoy', sidecarDrivers: classes.map((sidecarName) => ({ sidecarName })) },
        }),
      ],
      'workloads.yaml': classes.flatMap(side),
      'policy.yaml': policies(['client']),
    })
  })
  afterAll(async () => {
    await mesh.stop()
    await new Promise((resolve) => books.close(resolve))
  })

  const status = async (from: string): Promise<number> =>
    (await throughProxy(mesh.proxyOf(from), `http://books.test:${port()}/`)).status

  it.each(classes)('let out who is named, from class %s through the gateway of the other', async (from) => {
    const before = asked
    expect(await status(`${from}/client`)).toBe(200)
    expect(asked).toBe(before + 1)
    expect(await status(`${from}/thief`)).toBe(503)
    expect(asked).toBe(before + 1)
  })

  it('let no one out any more who is no longer named', async () => {
    await mesh.apply('policy.yaml', ...policies(['nobody']))
    // Tunnels that are open end when the time of a withdrawn rule is up.
    for (const from of classes)
      await eventually(
        () => status(`${from}/client`),
        (answer) => answer === 503,
        { what: `that class ${from} has no egress` },
      )
    const before = asked
    expect([await status('envoy/client'), await status('pipy/client')]).toEqual([503, 503])
    expect(asked).toBe(before)
  })
})
