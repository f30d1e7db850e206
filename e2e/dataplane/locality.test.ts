import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, meshConfig, service, workload } from './support/yaml.js'

const inZone = (zone: string) => ({ 'topology.kubernetes.io/zone': zone })
const storeService = service('shop/store', { part: 'store' }, 8080, {
  protocol: 'http',
  trafficDistribution: 'PreferSameZone',
})

function store(name: 'near' | 'far', zone: string): string {
  return workload(`shop/${name}`, {
    program: programs.http,
    port: 8080,
    account: 'store',
    labels: { part: 'store', ...inZone(zone) },
  })
}

// What scenario files can't say: a sidecar that is there and does not answer.
describe('endpoints in the zone of the client', () => {
  let mesh: TestMesh
  let stopped: number | undefined

  /** Workers of an Envoy hear of health one after the other. */
  async function answeredBy(server: 'near' | 'far'): Promise<void> {
    const what = `that ${server} alone answers`
    await eventually(servers, (found) => found.join() === server, { what })
  }

  /** Servers of a number of answers, one request after the other. */
  async function servers(): Promise<readonly string[]> {
    const found = new Set<string>()
    for (let n = 0; n < 20; n += 1) {
      const { body } = await throughProxy(mesh.proxyOf('shop/client'), 'http://store.shop:8080/')
      found.add((JSON.parse(body) as { readonly server: string }).server)
    }
    return [...found]
  }

  async function healthy(): Promise<number> {
    const { address = '', port = 0 } = mesh.instance('shop/client').admin ?? {}
    const text = await (await fetch(`http://${address}:${port}/stats?filter=membership_healthy`)).text()
    return Number(/^cluster\.shop\/store\|8080\.membership_healthy: (\d+)$/m.exec(text)?.[1] ?? -1)
  }

  beforeAll(async () => {
    mesh = await startTestMesh({
      'mesh.yaml': [
        meshConfig({
          traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false },
          featureFlags: { enableSidecarActiveHealthChecks: true },
        }),
        account('shop/client'),
        account('shop/store'),
        workload('shop/client', { program: programs.idle, labels: inZone('a') }),
        store('near', 'a'),
        store('far', 'b'),
        `${storeService}\n`,
      ],
    })
  })
  afterAll(async () => {
    // A stopped process can't end.
    if (stopped !== undefined) process.kill(stopped, 'SIGCONT')
    await mesh.stop()
  })

  it('answer as long as they are healthy, and then those elsewhere do', async () => {
    await eventually(healthy, (count) => count === 2, { what: 'that both are healthy' })
    await answeredBy('near')
    const { sidecarPid } = mesh.instance('shop/near')
    if (sidecarPid === undefined) throw new Error('the sidecar of shop/near does not run')
    stopped = sidecarPid
    process.kill(sidecarPid, 'SIGSTOP')
    await eventually(healthy, (count) => count === 1, { what: 'that one of them is not' })
    await answeredBy('far')
    process.kill(sidecarPid, 'SIGCONT')
    stopped = undefined
    await eventually(healthy, (count) => count === 2, { what: 'that both are healthy again' })
    await answeredBy('near')
  })
})
