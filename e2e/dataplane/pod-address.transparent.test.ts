import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type ProgramOutside, startOutside } from './support/program-outside.js'
import { httpAndTcpWorkload, workloadAt } from './support/http-and-tcp.js'
import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import {
  account,
  document,
  meshConfig,
  routeGroup,
  service,
  trafficTarget,
  withSpec,
  workload,
} from './support/yaml.js'

const PORT = 8080
const TCP = 9000
const mode = (isPermissive: boolean, isEgressOpen: boolean): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isPermissive, enableEgress: isEgressOpen } })
const serviceOf = (name: string, app: string, options: Parameters<typeof service>[3] = {}): string =>
  withSpec(service(`shop/${name}`, app, PORT, options), {
    ports: [
      { name: 'http', port: PORT },
      { name: 'tcp-bytes', port: TCP },
    ],
  })

describe('the address of a pod behind a Service', () => {
  let mesh: TestMesh
  let client: Inside
  let web: Inside
  let bare: ProgramOutside

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [mode(true, false)],
        'shop.yaml': [
          account('shop/client'),
          account('shop/web'),
          account('shop/bare'),
          workload('shop/client', { program: programs.idle }),
          httpAndTcpWorkload('shop/web', { account: 'web', app: 'web' }, { http: PORT, tcp: TCP }),
        ],
        'services.yaml': ['web', 'bare'].map((name) => serviceOf(name, name)),

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
    web = inside(mesh, 'shop/web')
    bare = await startOutside(client.address, 'bare', { http: PORT, tcp: TCP })
    await mesh.write('bare.yaml', workloadAt(bare.address, 'shop/bare', { account: 'bare', app: 'bare' }, [PORT, TCP]))
  })
  afterAll(async () => {
    await bare.stop()
    await mesh.stop()
  })

  const answerOf = async (dial: string, path: string): Promise<string> => {
    const { server, status } = await client.ask({ kind: 'http', dial, port: PORT, host: dial, path })
    return server ?? String(status ?? 'none')
  }
  const answers = async () => ({
    'a closed path by the name': await answerOf('web.shop', '/closed'),
    'an open path by the address': await answerOf(web.address, '/open'),
    'a closed path by the address': await answerOf(web.address, '/closed'),
    'the address of a pod without sidecar': await answerOf(bare.address, '/open'),
  })
  const arrive = async <T>(ask: () => Promise<T>, expected: T): Promise<void> => {
    const found = await eventually(ask, (each) => JSON.stringify(each) === JSON.stringify(expected), {
      what: JSON.stringify(expected),
    })
    expect(found).toEqual(expected)
  }

  // Answers of each step differ from those of the step before.
  it.each([
    ['permissive mode', 'closed', 'neither', 'web', 'none', 'none', 'none'],
    ['permissive mode', 'open', 'neither', 'web', 'none', 'none', 'bare'],
    ['SMI mode', 'open', 'neither', '403', 'none', 'none', 'bare'],
    ['SMI mode', 'closed', 'a headless Service', '403', 'web', '403', 'none'],
    ['permissive mode', 'closed', 'a headless Service', 'web', 'web', 'web', 'none'],
    ['permissive mode', 'open', 'the annotation', 'web', 'web', 'web', 'bare'],
    ['SMI mode', 'closed', 'the annotation', '403', 'web', '403', 'none'],
  ])(
    'belongs to the mesh by a headless Service or by the annotation: %s, %s egress, %s',
    async (modeName, egress, by, byName, open, closed, outside) => {
      await mesh.write('config.yaml', mode(modeName === 'permissive mode', egress === 'open'))
      const apps = ['web', 'bare']
      const options = by === 'the annotation' ? { annotations: { 'openservicemesh.io/pod-addresses': 'enabled' } } : {}
      const pods =
        by === 'a headless Service' ? apps.map((app) => serviceOf(`${app}-pods`, app, { headless: true })) : []
      await mesh.write('services.yaml', ...apps.map((app) => serviceOf(app, app, options)))
      await mesh.write('pods.yaml', ...pods)
      await arrive(answers, {
        'a closed path by the name': byName,
        'an open path by the address': open,
        'a closed path by the address': closed,
        'the address of a pod without sidecar': outside,
      })
    },
  )

  it('is dialled past the routes of the Service', async () => {
    const filter = { type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example' } }
    await mesh.write(
      'route.yaml',
      document('gateway.networking.k8s.io/v1', 'HTTPRoute', 'shop/web', {
        spec: { parentRefs: [{ group: '', kind: 'Service', name: 'web', port: PORT }], rules: [{ filters: [filter] }] },
      }),
    )
    await arrive(
      async () => [await answerOf('web.shop', '/open'), await answerOf(web.address, '/open')],
      ['302', 'web'],
    )
  })

  it('reaches the one pod of that address, even if the Service has other pods', async () => {
    const more = { account: 'web', app: 'web' }
    await mesh.write('more.yaml', httpAndTcpWorkload('shop/second', more, { http: PORT, tcp: TCP }))
    const started = (): Promise<string> =>
      Promise.resolve()
        .then(() => inside(mesh, 'shop/second').address)
        .catch(() => '')
    const address = await eventually(started, (found) => found !== '', { what: 'a second pod' })
    await arrive(
      async () => [await answerOf(address, '/open'), await answerOf(web.address, '/open')],
      ['second', 'web'],
    )
  })

  it('is dialled over TCP too, where both sides permit it', async () => {
    await mesh.write('config.yaml', mode(true, false))
    const answer = async () => client.ask({ kind: 'tcp', dial: web.address, port: TCP, say: 'hello' })
    await arrive(answer, { line: 'web' })
  })
})
