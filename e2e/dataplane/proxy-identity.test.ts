import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { KindMap } from '@osm-ts/core'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { issueLike } from './support/authority.js'
import { type TestMesh, programs, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { account, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

type Instance = Pick<KindMap['WorkloadInstance'], 'metadata' | 'spec'>

/** A namespace that sorts before that of the shop, with rules of its own that let its own account in everywhere. */
const attacker: readonly string[] = [
  account('aaa/mallory'),
  workload('aaa/mallory', { program: programs.http, port: 8080 }),
  service('aaa/mallory', 'mallory', 8080),
  routeGroup('aaa/all', [{ name: 'all', pathRegex: '.*', methods: ['*'] }]),
  trafficTarget('aaa/mallory', {
    to: 'aaa/mallory',
    from: ['aaa/mallory'],
    rules: [{ kind: 'HTTPRouteGroup', name: 'all' }],
  }),
]

describe('an instance that carries the uuid of the sidecar of another namespace', () => {
  let mesh: TestMesh
  let victim: Instance

  const written = (workloadName: string): Instance => {
    const folder = join(mesh.stateFolder, 'instances')
    const file = readdirSync(folder).find((name) => name.startsWith(`${workloadName.replace('/', '.')}-`))
    return JSON.parse(readFileSync(join(folder, String(file)), 'utf8')) as Instance
  }

  beforeAll(async () => {
    mesh = await startTestMesh({ ...shop(), 'attacker.yaml': attacker })
    victim = written('shop/store-v1')
  })
  afterAll(async () => {
    await mesh.stop()
  })

  /** Asks the sidecar of the victim, under the name of a service, as an account. Gives the status, or why there is none. */
  async function ask(from: string, serverName: string): Promise<string> {
    const [namespace = '', name = ''] = from.split('/')
    const subject = { kind: 'service', serviceAccount: { namespace, name }, services: [] } as const
    const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, subject)
    const { address = '', port = 0 } = victim.spec.allocations?.inbound['shop/store-v1|8080'] ?? {}
    return new Promise((resolve) => {
      let answer = ''
      const socket = tlsConnect({
        host: address,
        port,
        servername: serverName,
        ALPNProtocols: ['osm'],
        ca: workloadRoot,
        cert: certificate.chain,
        key: certificate.privateKey(),
        checkServerIdentity: () => undefined,
      })
      socket.on('secureConnect', () => socket.write('GET /books/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
      socket.on('error', () => resolve(/^HTTP\/1\.1 ([0-9]{3})/.exec(answer)?.[1] ?? 'refused'))
      socket.on('close', () => resolve(/^HTTP\/1\.1 ([0-9]{3})/.exec(answer)?.[1] ?? 'refused'))
    })
  }

  const policyOfVictim = (): Promise<string> =>
    mesh.debug(`/debug/policy?uuid=${victim.spec.uuid}&identity=store-v1.shop`)

  it('does not change the callers, names and configuration of that sidecar', async () => {
    const ownName = 'store-v1.shop.svc.cluster.local'
    const before = {
      policy: await policyOfVictim(),
      status: await mesh.status('shop/store-v1'),
      answers: [await ask('shop/client', ownName), await ask('aaa/mallory', ownName)],
    }
    expect(before.answers).toEqual(['200', '403'])
    // What it says of itself: that it listens where the sidecar of the victim listens, since that is where that sidecar is told to listen.
    const mallory = written('aaa/mallory')
    const listen = victim.spec.allocations?.inbound['shop/store-v1|8080']
    const spoof = {
      ...mallory,
      metadata: { ...mallory.metadata, name: 'a-spoof' },
      spec: {
        ...mallory.spec,
        uuid: victim.spec.uuid,
        ports: victim.spec.ports,
        allocations: { ...victim.spec.allocations, inbound: { 'aaa/mallory|8080': listen } },
        createdAt: new Date().toISOString(),
      },
    }
    const file = join(mesh.stateFolder, 'instances', 'aaa.a-spoof.json')
    writeFileSync(`${file}.tmp`, JSON.stringify(spoof))
    renameSync(`${file}.tmp`, file)
    const reported = await eventually(
      async () => (await mesh.problems()).filter(({ code }) => code.startsWith('OSM_POLICY_PROXY')),
      (problems) => problems.length > 0,
      { what: 'that the controller has read the instance' },
    )
    expect(reported).toMatchObject([
      { code: 'OSM_POLICY_PROXY_UUID', object: { kind: 'WorkloadInstance', namespace: 'aaa', name: 'a-spoof' } },
    ])
    await expect(policyOfVictim()).resolves.toBe(before.policy)
    await expect(mesh.status('shop/store-v1')).resolves.toMatchObject({
      identity: 'store-v1.shop',
      state: 'applied',
      appliedVersion: before.status.appliedVersion,
      conditions: before.status.conditions,
    })
    expect([await ask('shop/client', ownName), await ask('aaa/mallory', ownName)]).toEqual(before.answers)
    await expect(ask('aaa/mallory', 'mallory.aaa.svc.cluster.local')).resolves.not.toBe('200')
  })
})
