import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { overHttp2 } from '../dataplane/support/http2-call.js'
import { programs, startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { throughProxy } from '../dataplane/support/traffic.js'
import { account, meshConfig, service, trafficSplit, workload } from '../dataplane/support/yaml.js'
import { classed, classes, type SidecarClass } from './support/classes.js'

/** A client, a server of gRPC, and one of two backends of a split. */
function side(own: SidecarClass): readonly string[] {
  return [
    ...['client', 'greeter'].map((role) => account(`${own}/${role}`)),
    classed(own, workload(`${own}/client`, { program: programs.idle })),
    classed(own, workload(`${own}/greeter`, { program: programs.grpc, port: 9000 })),
    service(`${own}/greeter`, 'greeter', 9000, { protocol: 'grpc' }),
    account(`shop/${own}`),
    classed(own, workload(`shop/${own}`, { program: programs.http, port: 8080, labels: { part: 'store' } })),
    service(`shop/${own}`, own, 8080, { protocol: 'http' }),
  ]
}

describe('services in a mesh with sidecars of class envoy and of class pipy', () => {
  let mesh: TestMesh

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false },
          sidecar: { sidecarClass: 'envoy', sidecarDrivers: classes.map((sidecarName) => ({ sidecarName })) },
        }),
      ],
      'workloads.yaml': [
        ...classes.flatMap(side),
        service('shop/store', { part: 'store' }, 8080, { protocol: 'http' }),
        trafficSplit('shop/store', 'store', { envoy: 75, pipy: 25 }),
      ],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it.each([
    ['envoy', 'pipy'],
    ['pipy', 'envoy'],
  ] as const)('answer gRPC from class %s to class %s, with the status of the call', async (from, to) => {
    const proxy = mesh.proxyOf(`${from}/client`)
    for (const [path, code] of [
      ['Greet/0', '0'],
      ['Greet/5', '5'],
      ['Refuse/7', '7'],
    ] as const)
      expect(await overHttp2(proxy, `http://greeter.${to}:9000/${path}`, 'grpc')).toMatchObject({ status: 200, code })
  })

  it.each(classes)('share requests of class %s out by weight, over both classes', async (from) => {
    const count = { envoy: 0, pipy: 0 }
    for (let i = 0; i < 80; i += 1) {
      const { body } = await throughProxy(mesh.proxyOf(`${from}/client`), 'http://store.shop:8080/')
      count[(JSON.parse(body) as { readonly server: SidecarClass }).server] += 1
    }
    expect(count.envoy + count.pipy).toBe(80)
    // Envoy draws lots: five standard deviations.
    expect(Math.abs(count.envoy - 60)).toBeLessThanOrEqual(from === 'pipy' ? 0 : 20)
  })
})
