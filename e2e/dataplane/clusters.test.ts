import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { localInstance } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'

import { throughProxy } from './support/traffic.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

const WEST = 'region/zone/group/west'

/** A gateway that passes connections on without looking into them. */
async function startGateway(to: { readonly address: string; readonly port: number }) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((client) => {
    const upstream = connect(to.port, to.address)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port: (server.address() as AddressInfo).port, stop }
}

function store(name: 'east' | 'west', replicas = 1): readonly string[] {
  return [
    account('shop/store'),
    workload('shop/store', { program: programs.http, port: 8080, replicas, env: { NAME: name } }),
    service('shop/store', 'store', 8080, { protocol: 'http' }),
  ]
}

function clusterObject(kind: 'ServiceImport' | 'GlobalTrafficPolicy', spec: Readonly<Record<string, unknown>>): string {
  const metadata = { name: 'store', namespace: 'shop' }
  return `${JSON.stringify({ apiVersion: 'flomesh.io/v1alpha1', kind, metadata, spec })}\n`
}

describe('services of two clusters that share their roots', () => {
  let west: TestMesh
  let east: TestMesh
  let gateway: Awaited<ReturnType<typeof startGateway>>

  const imported = (path = '', serviceAccountName = 'store'): string =>
    clusterObject('ServiceImport', {
      serviceAccountName,
      ports: [
        {
          port: 8080,
          protocol: 'TCP',
          endpoints: [{ clusterKey: WEST, target: { host: 'west', ip: '127.0.0.1', port: gateway.port, path } }],
        },
      ],
    })
  const policy = (lbType: string, weight?: number): string =>
    clusterObject('GlobalTrafficPolicy', {
      lbType,
      targets: [{ clusterKey: WEST, ...(weight === undefined ? {} : { weight }) }],
    })

  /** Answers by server or, for those of sidecars, by status. */
  async function answers(times: number, from = 'shop/client'): Promise<Readonly<Record<string, number>>> {
    const found: Record<string, number> = {}
    for (let n = 0; n < times; n += 1) {
      const { status, body } = await throughProxy(east.proxyOf(from), 'http://store.shop:8080/')
      const name = status === 200 ? (JSON.parse(body) as { readonly server: string }).server : String(status)
      found[name] = (found[name] ?? 0) + 1
    }
    return found
  }

  async function answeredBy(names: string, from = 'shop/client'): Promise<void> {
    await eventually(
      () => answers(20, from),
      (found) => Object.keys(found).sort().join() === names,
      { what: `that ${from} is answered by ${names}` },
    )
  }

  beforeAll(async () => {
    west = await startTestMesh({
      'mesh.yaml': [
        meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
        ...store('west'),
        routeGroup('shop/all', [{ name: 'all', pathRegex: '.*' }]),
        trafficTarget('shop/store', {
          to: 'shop/store',
          from: ['shop/client'],
          rules: [{ kind: 'HTTPRouteGroup', name: 'all' }],
        }),
      ],
    })
    const { allocations } = localInstance(west.stateFolder, 'shop/store')
    const inbound = allocations?.inbound?.['shop/store|8080']
    if (inbound === undefined) throw new Error('the sidecar of the store listens nowhere')
    gateway = await startGateway(inbound)
    east = await startTestMesh(
      {
        'mesh.yaml': [
          meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } }),
          account('shop/client'),
          workload('shop/client', { program: programs.idle }),
          account('shop/thief'),
          workload('shop/thief', { program: programs.idle }),
        ],
        'store.yaml': store('east'),
        'import.yaml': [imported()],
      },
      { peer: west },
    )
  })
  afterAll(async () => {
    await east.stop()
    await gateway.stop()
    await west.stop()
  })

  it('stay at home where nothing lets them leave', async () => {
    expect(await answers(20)).toEqual({ east: 20 })
    await east.write('policy.yaml', policy('Locality'))
    expect(await answers(20)).toEqual({ east: 20 })
  })

  it('share requests by weight when all are active', async () => {
    await east.apply('policy.yaml', policy('ActiveActive', 300))
    await answeredBy('east,west')
    const { west: far = 0 } = await answers(200)
    // 150, within five standard deviations.
    expect(Math.abs(far - 150)).toBeLessThanOrEqual(31)
  })

  it('leave it to the called side who may call', async () => {
    await answeredBy('403,east', 'shop/thief')
  })

  it('fail over only while the local cluster has no endpoints', async () => {
    await east.apply('policy.yaml', policy('FailOver'))
    await answeredBy('east')
    await east.write('store.yaml', ...store('east', 0))
    await answeredBy('west')
    await answeredBy('403', 'shop/thief')
    await east.write('store.yaml', ...store('east'))
    await answeredBy('east')
  })

  it('are not reached through gateways that would have to read requests', async () => {
    await east.write('store.yaml', ...store('east', 0))
    await answeredBy('west')
    await east.write('import.yaml', imported('/west/store'))
    await answeredBy('503')
    expect(await east.problems()).toContainEqual(
      expect.objectContaining({ code: 'OSM_POLICY_IMPORT', field: 'spec.ports[0].endpoints[0].target.path' }),
    )
  })

  it('are reached under the identity that is expected, and no other', async () => {
    await east.write('store.yaml', service('shop/store', 'nobody', 8080, { protocol: 'http' }))
    await east.write('import.yaml', imported())
    await answeredBy('west')
    await east.write('import.yaml', imported('', 'somebody-else'))
    await answeredBy('503')
  })
})
