import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

const PORT = 8080
const mode = (isPermissive: boolean): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isPermissive, enableEgress: false } })
const server = (name: string): readonly string[] => [
  account(`shop/${name}`),
  workload(`shop/${name}`, { program: programs.recording, port: PORT }),
  service(`shop/${name}`, name, PORT),
]

describe('the service that a workload dials', () => {
  let mesh: TestMesh
  let client: Inside
  let namespace: string

  const ask = (dial: string, host: string) => client.ask({ kind: 'http', dial, port: PORT, host, path: '/open' })
  const addressOf = (name: string): string =>
    run('ip', ['netns', 'exec', namespace, 'getent', 'hosts', name]).split(' ')[0] ?? ''

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [mode(true)],
        'shop.yaml': [
          account('shop/client'),
          workload('shop/client', { program: programs.idle }),
          ...server('web'),
          ...server('bank'),
        ],
        'policy.yaml': [
          routeGroup('shop/routes', [{ name: 'open', pathRegex: '/open', methods: ['GET'] }]),
          trafficTarget('shop/web', {
            to: 'shop/web',
            from: ['shop/client'],
            rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['open'] }],
          }),
        ],
      },
      { mode: 'transparent' },
    )
    client = inside(mesh, 'shop/client')
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
  })
  afterAll(async () => {
    await mesh.stop()
  })

  describe.each([
    ['permissive mode', true],
    ['SMI mode', false],
  ])('in %s', (_, isPermissive) => {
    beforeAll(async () => {
      await mesh.write('config.yaml', mode(isPermissive))
      const status = isPermissive ? 200 : undefined
      await eventually(
        () => ask('bank.shop', 'bank.shop'),
        (answer) => answer.status === status,
        { what: `status ${String(status)} from a service that no policy opens` },
      )
    })

    it.each([
      ['its address', () => addressOf('web.shop')],
      ['its address with the port', () => `${addressOf('web.shop')}:${PORT}`],
      ['a public site', () => 'www.example.com'],
      ['the port of a tunnel', () => 'localhost:18080'],
      ['another service of the mesh', () => 'bank.shop'],
      ['another service of the mesh with the port', () => `bank.shop.svc.cluster.local:${PORT}`],
    ])('answers a request whose host is %s', async (_host, host) => {
      expect(await ask('web.shop', host())).toEqual({ status: 200, server: 'web' })
    })

    it('is told by no header of the workload, and none reaches the service', () => {
      const answer = run('ip', [
        ...['netns', 'exec', namespace, 'curl', '-s', '-m', '10', '-H', 'Host: www.example.com'],
        ...['-H', 'X-OSM-Service: shop/bank|8080', `http://web.shop:${PORT}/open`],
      ])
      const seen = JSON.parse(answer) as { readonly server: string; readonly headers: Readonly<Record<string, string>> }
      expect(seen.server).toBe('web')
      expect(seen.headers).toMatchObject({ host: 'www.example.com' })
      expect(Object.keys(seen.headers)).not.toContain('x-osm-service')
    })
  })

  it('is refused by policy whatever host a request names', async () => {
    for (const host of ['web.shop', 'bank.shop', 'www.example.com'])
      expect(await client.ask({ kind: 'http', dial: 'web.shop', port: PORT, host, path: '/closed' })).toMatchObject({
        status: 403,
      })
    expect(await ask('bank.shop', 'web.shop')).not.toHaveProperty('status')
  })
})
