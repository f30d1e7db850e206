import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, startTestMesh } from './support/mesh.js'
import { narrowEnvoy, type NarrowEnvoy, tooLargeForEnvoy } from './support/narrow-envoy.js'
import { shop, shopPolicy } from './support/shop.js'
import { type OpenConnection, openUpgrade, throughProxy } from './support/traffic.js'
import { routeGroup, trafficTarget } from './support/yaml.js'

/** The last responses of one proxy, as the debug page of the xDS server shows them. */
interface Responses {
  readonly uuid: string
  readonly types: Readonly<Record<string, readonly { readonly outcome: string }[]>>
}

const DRAIN_SECONDS = 2
/** Longer than a drained connection can live. */
const drained = () => new Promise((resolve) => setTimeout(resolve, DRAIN_SECONDS * 1000 + 2000))

const url = 'http://store.shop:8080/books/1'
const stream = 'http://store.shop:8080/stream'

const withoutStream = () => shopPolicy().map((document) => document.replaceAll('"stream"', '"read"'))

describe.each(['delta', 'sotw'])('real Envoys over %s', (xds) => {
  let mesh: TestMesh
  let envoy: NarrowEnvoy
  const open: OpenConnection[] = []
  const ask = () => throughProxy(mesh.proxyOf('shop/client'), url)
  const responses = async (workload: string): Promise<Responses['types']> => {
    const { uuid } = mesh.instance(workload)
    const [proxy] = JSON.parse(await mesh.debug(`/debug/xds?uuid=${uuid}`)) as readonly [Responses]
    return proxy.types
  }
  const upgraded = async () => {
    const connection = await openUpgrade(mesh.proxyOf('shop/client'), stream)
    open.push(connection)
    await expect(connection.ask('ping')).resolves.toBe('ping')
    return connection
  }
  /** A statistic that a sidecar tells on its administration interface. */
  const statistic = async (workload: string, name: string): Promise<number> => {
    const { uuid } = mesh.instance(workload)
    const { proxy } = JSON.parse(await mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
    const { address, port } = proxy.listen.admin ?? { address: '', port: 0 }
    const text = await (await fetch(`http://${address}:${port}/stats?filter=^${name}$`)).text()
    return Number(text.split(':')[1])
  }
  const config = (sidecar: Readonly<Record<string, string>> = {}) =>
    shop({
      sidecar: {
        sidecarDrivers: [{ sidecarName: 'envoy', config: { xds, drainSeconds: DRAIN_SECONDS } }],
        ...sidecar,
      },
    })['config.yaml'] ?? []

  beforeAll(async () => {
    envoy = await narrowEnvoy()
    const files = { ...shop(), 'config.yaml': config() }
    mesh = await startTestMesh(files, { envoy: envoy.path })
  })
  afterAll(async () => {
    for (const { socket } of open) socket.destroy()
    await mesh.stop()
    await envoy.remove()
  })

  it('are served over that variant, and warm up', async () => {
    const { uuid } = mesh.instance('shop/client')
    expect(JSON.parse(await mesh.debug(`/debug/proxy?uuid=${uuid}`))).toEqual([
      expect.objectContaining({ uuid, variant: xds, settled: true }),
    ])
    await eventually(ask, ({ status }) => status === 200, { what: 'an answer' })
    const types = await responses('shop/client')
    expect(Object.keys(types)).toEqual(['cluster', 'endpoints', 'listener', 'route', 'secret'])
    expect(Object.values(types).flatMap((records) => records.map(({ outcome }) => outcome))).not.toContain('nack')
  })

  it('finish warming up clusters that change while their endpoints do not', async () => {
    for (const version of ['TLSv1_3', 'TLSv1_2']) {
      const before = await responses('shop/client')
      await mesh.apply('config.yaml', ...config({ tlsMinProtocolVersion: version }))
      const after = await responses('shop/client')
      for (const type of ['cluster', 'endpoints'])
        expect({ type, count: after[type]?.length }).toEqual({ type, count: (before[type]?.length ?? 0) + 1 })
      await eventually(
        () => statistic('shop/client', 'cluster_manager.warming_clusters'),
        (count) => count === 0,
        { what: 'that all clusters are warm' },
      )
      await eventually(ask, ({ status }) => status === 200, { what: 'an answer' })
    }
  })

  it('keep the last good routes when new ones are refused, and take better ones', async () => {
    const lonely = (pathRegex: string) => [
      routeGroup('shop/lonely', [{ name: 'all', pathRegex, methods: ['GET'] }]),
      trafficTarget('shop/lonely', {
        to: 'shop/lonely',
        from: ['shop/client'],
        rules: [{ kind: 'HTTPRouteGroup', name: 'lonely' }],
      }),
    ]
    const askLonely = async () =>
      (await throughProxy(mesh.proxyOf('shop/client'), 'http://lonely.shop:8080/books/1')).status
    await mesh.apply('lonely.yaml', ...lonely('/books/.*'))
    await eventually(askLonely, (status) => status === 200, { what: 'access' })
    await mesh.write('lonely.yaml', ...lonely(`(${tooLargeForEnvoy})|(/books/.*)`))
    await eventually(
      () => mesh.status('shop/lonely'),
      ({ state, denied }) => state === 'rejected' && denied.length > 0,
      { what: 'a rejection, and the deny form' },
    )
    await eventually(askLonely, (status) => status === 403, { what: 'a refusal' })
    expect((await responses('shop/lonely')).route?.map(({ outcome }) => outcome)).toContain('nack')
    await mesh.write('lonely.yaml', ...lonely('/books/[0-9]+'))
    await mesh.settled()
    await eventually(askLonely, (status) => status === 200, { what: 'access by the better rule' })
  })

  it('are sent nothing, and lose no connection, when the controller is replaced', async () => {
    // A withdrawal before: its mark must return with the proxies.
    await mesh.write('policy.yaml', ...shopPolicy(['client']))
    await eventually(
      () => throughProxy(mesh.proxyOf('shop/thief'), url),
      ({ status }) => status === 403,
      { what: 'the withdrawal' },
    )
    await mesh.settled()
    // Sidecars keep connections to each other; those that are drained for the withdrawal must be gone, or the stream may be on one of them.
    await drained()
    const connection = await upgraded()
    await mesh.restartController()
    for (const workload of ['shop/client', 'shop/store-v1', 'shop/store-v2']) {
      const types = await responses(workload)
      expect({ workload, sent: Object.keys(types).filter((type) => type !== 'secret') }).toEqual({ workload, sent: [] })
    }
    await drained()
    await expect(connection.ask('still here')).resolves.toBe('still here')
  })

  it('close connections that were allowed by a rule withdrawn while no controller ran', async () => {
    const connection = await upgraded()
    await mesh.restartController(async () => mesh.write('policy.yaml', ...withoutStream()))
    await eventually(
      () => connection.ended(),
      (ended) => ended,
      { what: 'the end of the stream' },
    )
  })
})
