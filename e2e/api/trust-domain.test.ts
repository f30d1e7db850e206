import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { sharedApiServer, type ApiServer } from './harness/index.js'
import {
  ClusterStandIn,
  InstalledMesh,
  clientPod,
  httpRouteGroup,
  prepareImages,
  requestFrom,
  serverPod,
  service,
  trafficTarget,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'trust-shop'
const trustDomain = 'trust.example'
const url = `http://server.${shop}.svc.cluster.local/books`
const meshed = ['server', 'client', 'stranger'] as const

describe('a mesh with its own trust domain', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  const ask = (from: string, to = url) => requestFrom(cluster.pod(shop, from), to)

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'trust', values: { trustDomain } })
    await mesh.createMonitoredNamespace(shop, meshed)
    await server.api.create(resourceTypes.Service, service(shop, 'server'), { signal })
    for (const name of meshed) {
      const manifest = (name === 'server' ? serverPod : clientPod)({ namespace: shop, name, serviceAccountName: name })
      await server.api.create(resourceTypes.Pod, manifest, { signal })
    }
    await server.api.create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'), { signal })
    const target = { name: 'client-to-server', source: 'client', destination: 'server', routes: 'books' }
    await server.api.create(resourceTypes.TrafficTarget, trafficTarget(shop, target), { signal })
    await cluster.ready(shop, meshed)
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('lets in whom its policies name, by identities of that domain, under the usual names of services', async () => {
    const answer = await eventually(
      () => ask('client'),
      ({ status }) => status === 200,
      { what: 'an answer' },
    )
    expect(JSON.parse(answer.body)).toMatchObject({ server: 'server', path: '/books' })
    await expect(ask('stranger')).resolves.not.toMatchObject({ status: 200 })
  })

  it('issues certificates for names of that domain and no other', async () => {
    const page = await ask('client', 'http://127.0.0.1:15000/certs')
    expect(page.status).toBe(200)
    const { certificates } = JSON.parse(page.body) as {
      readonly certificates: readonly {
        readonly cert_chain?: readonly { readonly subject_alt_names: readonly Readonly<Record<string, string>>[] }[]
      }[]
    }
    const names = certificates
      .flatMap(({ cert_chain: chain = [] }) => chain.flatMap((it) => it.subject_alt_names))
      .flatMap((name) => Object.values(name))
    expect(names).toContain(`client.${shop}.${trustDomain}`)
    expect(names).toContain(`spiffe://${trustDomain}/client/${shop}`)
    expect(
      names.filter((name) => name.includes('spiffe://cluster.local') || name.endsWith(`.${shop}.cluster.local`)),
    ).toEqual([])
  })
})
