import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { loadInside } from './support/inside-load.js'
import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { eventually } from './support/wait.js'
import { account, meshConfig, service, workload } from './support/yaml.js'

const PORT = 8080
const ROUNDS = 12
const server = (name: string): string => service(`shop/${name}`, name, PORT)

// Services of one port share a route configuration: connections must not choose a virtual host in it that is not there.
describe('a service that joins and leaves a mesh while it is called', () => {
  let mesh: TestMesh
  let client: Inside
  let namespace: string

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
        'shop.yaml': [
          account('shop/client'),
          workload('shop/client', { program: programs.idle }),
          ...['web', 'late'].flatMap((name) => [
            account(`shop/${name}`),
            workload(`shop/${name}`, { program: programs.recording, port: PORT }),
          ]),
          server('web'),
        ],
        'late.yaml': [server('late')],
      },
      'transparent',
    )
    client = inside(mesh, 'shop/client')
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('is answered by the service or not at all, and never by a sidecar that knows no route to it', async () => {
    const ask = () => client.ask({ kind: 'http', dial: 'web.shop', port: PORT, host: 'web.shop' })
    await eventually(ask, ({ status }) => status === 200, { what: 'an answer of the service that stays' })
    const address = run('ip', ['netns', 'exec', namespace, 'getent', 'hosts', 'late.shop']).split(' ')[0] ?? ''
    const late = () => client.ask({ kind: 'http', dial: address, port: PORT, host: 'late.shop' })
    await eventually(late, ({ status }) => status === 200, { what: 'an answer of the service that leaves' })
    const load = await loadInside(namespace, `http://${address}:${PORT}/`, { kept: 2, fresh: 6 })
    for (let round = 0; round < ROUNDS; round += 1) {
      await mesh.write('late.yaml')
      await eventually(late, ({ status }) => status !== 200, { what: 'the service to leave' })
      await mesh.write('late.yaml', server('late'))
      await eventually(late, ({ status }) => status === 200, { what: 'the service to join' })
    }
    const { outcomes } = await load.stop()
    expect(outcomes['200']).toBeGreaterThan(500)
    expect(outcomes).not.toHaveProperty('404')
  })
})
