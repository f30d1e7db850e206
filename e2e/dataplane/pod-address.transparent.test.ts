import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type ProgramOutside, startOutside } from './support/program-outside.js'
import { httpAndTcpWorkload, workloadAt } from './support/http-and-tcp.js'
import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, withSpec, workload } from './support/yaml.js'

const PORT = 8080
const TCP = 9000
const mode = (isPermissive: boolean, isEgressOpen: boolean): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isPermissive, enableEgress: isEgressOpen } })
const serviceOf = (name: string, app: string, headless: boolean): string =>
  withSpec(service(`shop/${name}`, app, PORT, { headless }), {
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
          ...['web', 'bare'].map((name) => serviceOf(name, name, false)),
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
      'transparent',
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

  // Answers of each step differ from those of the step before.
  it.each([
    ['permissive mode', 'closed', 'without', 'web', 'none', 'none', 'none'],
    ['permissive mode', 'open', 'without', 'web', 'none', 'none', 'bare'],
    ['SMI mode', 'open', 'without', '403', 'none', 'none', 'bare'],
    ['SMI mode', 'closed', 'with', '403', 'web', '403', 'none'],
    ['permissive mode', 'closed', 'with', 'web', 'web', 'web', 'none'],
  ])(
    'belongs to the mesh by a headless Service alone: %s, %s egress, %s such a Service',
    async (modeName, egress, headless, byName, open, closed, outside) => {
      await mesh.write('config.yaml', mode(modeName === 'permissive mode', egress === 'open'))
      const covered = headless === 'with' ? ['web', 'bare'] : []
      await mesh.write('pods.yaml', ...covered.map((app) => serviceOf(`${app}-pods`, app, true)))
      const expected = {
        'a closed path by the name': byName,
        'an open path by the address': open,
        'a closed path by the address': closed,
        'the address of a pod without sidecar': outside,
      }
      const found = await eventually(answers, (each) => JSON.stringify(each) === JSON.stringify(expected), {
        what: JSON.stringify(expected),
      })
      expect(found).toEqual(expected)
    },
  )

  it('is dialled over TCP too where a headless Service has it', async () => {
    expect(await client.ask({ kind: 'tcp', dial: web.address, port: TCP, say: 'hello' })).toEqual({ line: 'web' })
  })
})
