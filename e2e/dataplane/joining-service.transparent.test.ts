import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { loadInside } from './support/inside-load.js'
import { workloadAt } from './support/http-and-tcp.js'
import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { type ProgramOutside, startOutside } from './support/program-outside.js'
import { account, meshConfig, service, workload } from './support/yaml.js'

const PORT = 8080
const ROUNDS = 8
const traffic = { enablePermissiveTrafficPolicyMode: true, enableEgress: false, plaintextNamespaces: ['shop'] }

/** Takes the service out of the mesh and puts it back, again and again. */
async function leaveAndJoin(mesh: TestMesh, late: string, ask: () => ReturnType<Inside['ask']>): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await mesh.write('late.yaml')
    await eventually(ask, ({ status }) => status === undefined, { what: 'the service to leave' })
    await mesh.write('late.yaml', late)
    await eventually(ask, ({ status }) => status === 200, { what: 'the service to join' })
  }
}

// A service of the mesh shares a filter chain of the calling sidecar with others of its port.
describe('a service of the mesh that joins and leaves while it is called', () => {
  let mesh: TestMesh
  let client: Inside
  let namespace: string
  const lateService = service('shop/late', 'web', PORT)

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
        'shop.yaml': [
          account('shop/client'),
          account('shop/web'),
          workload('shop/client', { program: programs.idle }),
          workload('shop/web', { program: programs.recording, port: PORT }),
          service('shop/web-7', 'web', PORT),
        ],
        'late.yaml': [lateService],
      },
      { mode: 'transparent' },
    )
    client = inside(mesh, 'shop/client')
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('is answered by the service, and changes nothing for another of its filter chain', async () => {
    const addressOf = (name: string): string =>
      run('ip', ['netns', 'exec', namespace, 'getent', 'hosts', `${name}.shop`]).split(' ')[0] ?? ''
    const ask = (dial: string) => client.ask({ kind: 'http', dial, port: PORT, host: 'late.shop' })
    await eventually(
      () => ask('late.shop'),
      ({ status }) => status === 200,
      { what: 'an answer of the service' },
    )
    const late = addressOf('late')
    // Its hash puts it into the filter chain of the other.
    const neighbour = await loadInside(namespace, `http://${addressOf('web-7')}:${PORT}/`, { kept: 2, fresh: 1 })
    const load = await loadInside(namespace, `http://${late}:${PORT}/`, { kept: 4, fresh: 4 })
    await leaveAndJoin(mesh, lateService, () => ask(late))
    const { outcomes, failures } = await load.stop()
    expect((await neighbour.stop()).failures).toEqual([])
    expect(outcomes['200']).toBeGreaterThan(500)
    // The sidecar of the server may know first that the service has left, and says so.
    const ofServer = /^(ECONNRESET|403 RBAC: access denied|503 upstream connect error.*)$/s
    expect(failures.filter(({ answer }) => !ofServer.test(answer))).toEqual([])
  })
})

// The server of the service has no sidecar, so that all that is answered otherwise comes from the sidecar of the caller.
describe('a service that joins and leaves a mesh while it is called', () => {
  const late = service('shop/late', 'late', PORT)
  let mesh: TestMesh
  let client: Inside
  let outside: ProgramOutside
  let namespace: string

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [meshConfig({ traffic })],
        'shop.yaml': [
          account('shop/client'),
          account('shop/web'),
          workload('shop/client', { program: programs.idle }),
          workload('shop/web', { program: programs.recording, port: PORT }),
          // It has the port of the other, and stays.
          service('shop/web', 'web', PORT),
        ],
      },
      { mode: 'transparent' },
    )
    client = inside(mesh, 'shop/client')
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
    outside = await startOutside(client.address, 'late', { http: PORT, tcp: 9000 })
    await mesh.write('server.yaml', workloadAt(outside.address, 'shop/late', { account: 'web', app: 'late' }, [PORT]))
    await mesh.write('late.yaml', late)
  })
  afterAll(async () => {
    await outside.stop()
    await mesh.stop()
  })

  const ask = (dial: string) => client.ask({ kind: 'http', dial, port: PORT, host: 'late.shop' })

  it('is answered by the service, or not at all while it is not part of the mesh', async () => {
    await eventually(
      () => ask('late.shop'),
      ({ server }) => server === 'late',
      { what: 'an answer of the service' },
    )
    const address = run('ip', ['netns', 'exec', namespace, 'getent', 'hosts', 'late.shop']).split(' ')[0] ?? ''
    const load = await loadInside(namespace, `http://${address}:${PORT}/`, { kept: 4, fresh: 4 })
    await leaveAndJoin(mesh, late, () => ask(address))
    const { outcomes } = await load.stop()
    expect(outcomes['200']).toBeGreaterThan(500)
    expect(Object.keys(outcomes).sort()).toEqual(['200', 'ECONNRESET'])
  })

  it('gets no calls by an address that is only written down, also where it is headless', async () => {
    await mesh.write('headless.yaml', service('shop/headless', 'late', PORT, { headless: true }))
    await eventually(
      () => mesh.problems(),
      (problems) => problems.some(({ code }) => code === 'OSM_POLICY_ADDRESS_WRITTEN'),
      { what: 'word of the address' },
    )
    expect(await ask(outside.address)).toMatchObject({ error: 'ECONNRESET' })
    expect(await ask('late.shop')).toMatchObject({ server: 'late' })
  })
})
