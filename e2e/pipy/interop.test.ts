import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { openTcp, throughProxy } from '../dataplane/support/traffic.js'
import {
  account,
  meshConfig,
  type Qualified,
  routeGroup,
  service,
  tcpRoute,
  trafficTarget,
  workload,
} from '../dataplane/support/yaml.js'
import { classed, classes, type SidecarClass } from './support/classes.js'

/** Of each class: a web server, an echo over TCP, who may call both of the other class, and who may not. */
function side(own: SidecarClass): readonly string[] {
  const name = (role: string): Qualified => `${own}/${role}`
  return [
    ...['client', 'thief', 'web', 'echo'].map((role) => account(name(role))),
    ...['client', 'thief'].map((role) => classed(own, workload(name(role), { program: programs.idle }))),
    classed(own, workload(name('web'), { program: programs.http, port: 8080 })),
    service(name('web'), 'web', 8080, { protocol: 'http' }),
    classed(own, workload(name('echo'), { program: programs.tcp, port: 9000 })),
    service(name('echo'), 'echo', 9000, { protocol: 'tcp' }),
  ]
}

/** Lets the clients of these classes read from the web server, and talk to the echo. */
function policy(own: SidecarClass, from: readonly SidecarClass[]): readonly string[] {
  const clients = from.map((each): Qualified => `${each}/client`)
  return [
    routeGroup(`${own}/routes`, [{ name: 'read', pathRegex: '/books/.*', methods: ['GET'] }]),
    tcpRoute(`${own}/ports`, [9000]),
    trafficTarget(`${own}/web`, {
      to: `${own}/web`,
      from: clients,
      rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['read'] }],
    }),
    trafficTarget(`${own}/echo`, { to: `${own}/echo`, from: clients, rules: [{ kind: 'TCPRoute', name: 'ports' }] }),
  ]
}

describe('a mesh with sidecars of class envoy and of class pipy', () => {
  let mesh: TestMesh

  beforeAll(async () => {
    const drivers = classes.map((sidecarName) => ({ sidecarName }))
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: {
            enablePermissiveTrafficPolicyMode: false,
            enableEgress: false,
            policyWithdrawalTimeout: '1s',
          },
          sidecar: { sidecarClass: 'envoy', sidecarDrivers: drivers },
        }),
      ],
      'workloads.yaml': classes.flatMap(side),
      'policy.yaml': classes.flatMap((own) => policy(own, classes)),
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  const status = async (from: string, to: SidecarClass, path = '/books/1', method = 'GET'): Promise<number> =>
    (await throughProxy(mesh.proxyOf(from), `http://web.${to}:8080${path}`, { method })).status
  const echo = async (from: string, to: SidecarClass, word: string): Promise<string> => {
    const connection = openTcp(mesh.tcpAddress(from, `echo_${to}_9000`))
    try {
      return await connection.ask(word)
    } finally {
      connection.socket.destroy()
    }
  }

  it('has both', async () => {
    const seen = mesh.mesh.instances().map(({ namespace, class: own }) => [namespace, own])
    expect(new Set(seen.map((pair) => pair.join(' ')))).toEqual(new Set(['envoy envoy', 'pipy pipy']))
    expect((await mesh.statuses()).map(({ state }) => state)).toEqual(seen.map(() => 'applied'))
  })

  describe.each([
    ['envoy', 'pipy'],
    ['pipy', 'envoy'],
  ] as const)('from class %s to class %s', (from, to) => {
    it('lets requests through that a rule allows, and no others', async () => {
      await expect(status(`${from}/client`, to)).resolves.toBe(200)
      await expect(status(`${from}/client`, to, '/secrets')).resolves.toBe(403)
      await expect(status(`${from}/client`, to, '/books/1', 'POST')).resolves.toBe(403)
    })

    it('lets no one in who is not named, on one connection or another', async () => {
      await expect(status(`${from}/thief`, to)).resolves.toBe(403)
      await expect(status(`${from}/client`, to)).resolves.toBe(200)
      await expect(status(`${from}/thief`, to)).resolves.toBe(403)
    })

    it('lets TCP through to whom a rule names, and closes what others open', async () => {
      await expect(echo(`${from}/client`, to, 'hello')).resolves.toBe('hello')
      await expect(echo(`${from}/thief`, to, 'hello')).resolves.toBe('closed')
    })

    it('refuses when access is withdrawn, closes what is open, and lets in again', async () => {
      const open = openTcp(mesh.tcpAddress(`${from}/client`, `echo_${to}_9000`))
      await expect(open.ask('before')).resolves.toBe('before')
      await mesh.apply(
        'policy.yaml',
        ...policy(from, classes),
        ...policy(
          to,
          classes.filter((each) => each !== from),
        ),
      )
      await expect(status(`${from}/client`, to)).resolves.toBe(403)
      await expect(echo(`${from}/client`, to, 'hello')).resolves.toBe('closed')
      await eventually(
        () => open.ended(),
        (ended) => ended,
        { what: 'the end of the connection' },
      )
      open.socket.destroy()
      await mesh.apply('policy.yaml', ...classes.flatMap((own) => policy(own, classes)))
      await expect(status(`${from}/client`, to)).resolves.toBe(200)
      await expect(echo(`${from}/client`, to, 'again')).resolves.toBe('again')
    })
  })
})
