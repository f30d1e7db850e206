import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WorkloadApiStandIn } from '@osm-ts/controller/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { haproxyPackage } from './support/haproxy-package.js'
import { programs, type TestMesh, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { shopEntries, svidEntry } from './support/svid-entries.js'
import { type Answer, load, throughProxy } from './support/traffic.js'
import { account, service, trafficTarget, withSpec, workload } from './support/yaml.js'

interface CertificatesPage {
  readonly certificates: readonly { readonly kind: string; readonly commonName: string }[]
  readonly trusted: readonly { readonly authority: string; readonly source?: string }[]
}

describe('a mesh whose sidecars take their certificates from a Workload API', () => {
  let folder: string
  let agent: WorkloadApiStandIn
  let mesh: TestMesh

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-workload-api-'))
    agent = await WorkloadApiStandIn.make(join(folder, 'agent.sock'))
    agent.register(...shopEntries)
    const loaded = await haproxyPackage(folder)
    // The agent comes up after the mesh, as on a node that has just started.
    const starting = startTestMesh(
      {
        ...shop({ sidecar: { sidecarClass: 'envoy', sidecarDrivers: [{ sidecarName: loaded.name }] } }),
        'other-class.yaml': [
          account('shop/caller'),
          withSpec(workload('shop/caller', { program: programs.idle }), { sidecarClass: loaded.name }),
          trafficTarget('shop/caller', {
            to: 'shop/store-v1',
            from: ['shop/caller'],
            rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['read'] }],
          }),
          account('shop/called'),
          withSpec(workload('shop/called', { program: programs.http, port: 8080 }), { sidecarClass: loaded.name }),
          service('shop/called', 'called', 8080, { protocol: 'http' }),
          trafficTarget('shop/called', {
            to: 'shop/called',
            from: ['shop/client'],
            rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['read'] }],
          }),
        ],
      },
      { loaded, workloadApiSocket: agent.socketPath },
    )
    await Promise.all([starting.then((started) => (mesh = started)), agent.start()])
  })

  afterAll(async () => {
    await mesh.stop()
    await agent.close()
    await rm(folder, { recursive: true, force: true })
  })

  const ask = (from: string, url: string, method = 'GET'): Promise<Answer> =>
    throughProxy(mesh.proxyOf(`shop/${from}`), url, { method, timeoutMs: 3_000 })
  const read = (from = 'client', to = 'store-v1'): Promise<Answer> => ask(from, `http://${to}.shop:8080/books/1`)
  const status = async (answer: Promise<Answer>): Promise<number> => (await answer).status

  it('allows and denies by identities that the agent vouches for', async () => {
    await eventually(
      () => status(read()),
      (code) => code === 200,
    )
    expect(await status(ask('client', 'http://store-v1.shop:8080/buy', 'POST'))).toBe(200)
    expect(await status(ask('thief', 'http://store-v1.shop:8080/buy', 'POST'))).toBe(403)
    expect(await status(read('client', 'lonely'))).not.toBe(200)
  })

  it('issues no certificate to a sidecar that has one from the agent, and reports its source', async () => {
    const { certificates, trusted } = JSON.parse(await mesh.debug('/debug/certs')) as CertificatesPage
    const issued = certificates.filter(({ kind }) => kind === 'service').map(({ commonName }) => commonName)
    expect(issued.sort()).toEqual(['called.shop.cluster.local', 'caller.shop.cluster.local'])
    expect(trusted.filter(({ source }) => source === 'workload-api')).toHaveLength(1)
    const sources = new Map((await mesh.statuses()).map(({ name, serviceCredential }) => [name, serviceCredential]))
    expect(sources.get(`shop/${mesh.instance('shop/client').name}`)).toBe('workload-api')
    expect(sources.get(`shop/${mesh.instance('shop/caller').name}`)).toBeUndefined()
  })

  it('talks to a class that has certificates of the mesh, in both directions', async () => {
    await eventually(
      () => status(read('caller')),
      (code) => code === 200,
    )
    await eventually(
      () => status(read('client', 'called')),
      (code) => code === 200,
    )
    expect(await status(read('thief', 'called'))).toBe(403)
  })

  it('loses no request while the agent changes its root', async () => {
    const stop = load(() => read(), 3)
    await agent.prepareRoot()
    await eventually(
      async () => (JSON.parse(await mesh.debug('/debug/certs')) as CertificatesPage).trusted,
      (trusted) => trusted.filter(({ source }) => source === 'workload-api').length === 2,
    )
    await mesh.settled()
    await agent.activateRoot()
    await eventually(
      () => status(read('caller')),
      (code) => code === 200,
    )
    agent.dropFormerRoots()
    await eventually(
      async () => (JSON.parse(await mesh.debug('/debug/certs')) as CertificatesPage).trusted,
      (trusted) => trusted.filter(({ source }) => source === 'workload-api').length === 1,
    )
    await mesh.settled()
    expect(await status(read())).toBe(200)
    const failures = await stop(50)
    expect(failures).toEqual([])
    expect(agent.refusals).toEqual([])
  })

  it('keeps its traffic while the agent is down, also with a new controller that waits for the roots', async () => {
    await agent.stop()
    expect(await status(read())).toBe(200)
    await eventually(
      () => mesh.problems(),
      (problems) => problems.some(({ code }) => code === 'OSM_CERT_WORKLOAD_API'),
    )
    await mesh.restartController(async () => {
      expect(await status(read())).toBe(200)
      await agent.start()
    })
    expect(await status(read())).toBe(200)
  })

  it('refuses a proxy with an identity other than that of its workload', async () => {
    // No connection is open between these that a previous identity has opened.
    agent.entries.set('spiffe://cluster.local/store-v3/shop', svidEntry('store-v1', 'store-v3', 'store'))
    agent.entries.set('spiffe://cluster.local/thief/shop', {
      ...svidEntry('thief'),
      spiffeId: 'spiffe://other.example/thief/shop',
    })
    await agent.tellSecrets()
    expect(await status(read('client', 'store-v3'))).toBe(503)
    expect(await status(read('thief', 'store-v2'))).toBe(503)
    agent.register(...shopEntries)
    await agent.tellSecrets()
    for (const [from, to] of [
      ['client', 'store-v3'],
      ['thief', 'store-v2'],
    ] as const)
      await eventually(
        () => status(read(from, to)),
        (code) => code === 200,
      )
  })

  it('serves and calls nothing for a workload that the agent does not know, until it does', async () => {
    await mesh.write(
      'late.yaml',
      account('shop/late'),
      workload('shop/late', { program: programs.http, port: 8080 }),
      service('shop/late', 'late', 8080, { protocol: 'http' }),
      trafficTarget('shop/late', {
        to: 'shop/late',
        from: ['shop/client'],
        rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['read'] }],
      }),
    )
    await eventually(
      async () => agent.denied,
      (denied) => denied.includes('spiffe://cluster.local/late/shop'),
    )
    expect(await status(read('client', 'late'))).not.toBe(200)
    expect((await mesh.status('shop/late')).ready).toBe(false)
    agent.register(svidEntry('late', 'late'))
    await eventually(
      () => status(read('client', 'late')),
      (code) => code === 200,
    )
  })

  it('has no key of a workload in a log, or on a debug page', async () => {
    const lines = mesh.events.flatMap((event) => (event.type === 'output' ? [event.line] : []))
    const pages = (await mesh.debug('/debug')).split('\n').filter((path) => path.startsWith('/debug/'))
    const shown = await Promise.all(pages.map((path) => mesh.debug(path).catch(String)))
    expect([...lines, ...shown].join('\n')).not.toContain('PRIVATE KEY')
  })
})
