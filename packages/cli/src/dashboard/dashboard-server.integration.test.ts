import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Sections, Topology, WhatIfAnswer, WhyAnswer } from '@osm-ts/dashboard'

import { proxyStatus } from '../../test/sample-view.js'
import { loadFolder, standaloneNaming } from '../spec/load-folder.js'
import { type Dashboard, serveDashboard } from './dashboard-server.js'
import { POLL_MS, type WatchedMesh } from './mesh-watch.js'
import { sidecarTraffic } from './sidecar-traffic.js'

const mesh = `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: { name: osm-mesh-config, namespace: osm-system }
spec: { traffic: { enablePermissiveTrafficPolicyMode: false } }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: buyer, namespace: shop }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: store, namespace: shop }
---
apiVersion: v1
kind: Service
metadata: { name: store, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080, appProtocol: http }] }
---
apiVersion: v1
kind: Service
metadata: { name: store-v2, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080, appProtocol: http }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: store-1, namespace: shop, labels: { app: store } }
spec: { serviceAccountName: store, command: [store], ports: [{ port: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: buyer-1, namespace: shop }
spec: { serviceAccountName: buyer, command: [buyer] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: reading, namespace: shop }
spec: { matches: [{ name: books, pathRegex: /books, methods: [GET] }] }
---
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: split, namespace: shop }
spec: { service: store.shop.svc.cluster.local, backends: [{ service: store, weight: 9 }, { service: store-v2, weight: 1 }] }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: buying, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: store, namespace: shop }
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  rules: [{ kind: HTTPRouteGroup, name: reading, matches: [books] }]
`

describe('the server of the dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-dashboard-'))
  const abort = new AbortController()
  const store = proxyStatus('store-1-0', 'shop', 'store')
  let dashboard: Dashboard
  let isControllerThere = true
  /** Times that the objects of the mesh were read. */
  let loads = 0
  let statuses = 0
  /** Requests that the sidecar has counted. */
  let requests = 0
  const certificate = {
    kind: 'service',
    commonName: 'store.shop.cluster.local',
    expiration: '2036-01-02T03:04:05.000Z',
  }

  const watched: WatchedMesh = {
    load: (assumptions) => {
      loads += 1
      return loadFolder(folder, standaloneNaming, abort.signal, assumptions)
    },
    openApi: async () => ({
      statuses: async () => {
        statuses += 1
        if (!isControllerThere) throw new Error('the controller does not answer')
        return [store]
      },
      participation: async () => ({
        proxies: [
          {
            uuid: store.uuid,
            name: store.name,
            identity: store.identity,
            commonName: `${store.uuid}.sidecar.store.shop.cluster.local`,
            state: 'participant',
            services: [{ namespace: 'shop', name: 'store' }],
          } as never, // branded names, which the page takes as texts
        ],
        endpointsWithoutProxy: [],
      }),
      pushes: async () => [],
      problems: async () => [],
      certificates: async () => ({
        provider: { name: 'tresor', faults: [] },
        trusted: [],
        certificates: [certificate],
      }),
    }),
    traffic: sidecarTraffic(
      async () => {
        requests += 10
        return `envoy_cluster_upstream_rq_xx{envoy_response_code_class="2",envoy_cluster_name="shop/store|80"} ${requests}`
      },
      () => Date.now(),
    ),
    policy: async () => Promise.reject(new Error('not asked')),
    mesh: { title: 'shop', version: '0.0.0' },
    cwd: folder,
    now: () => Date.now(),
  }

  beforeAll(async () => {
    writeFileSync(join(folder, 'mesh.yaml'), mesh)
    dashboard = await serveDashboard({
      watched,
      files: new Map([['index.html', { type: 'text/html; charset=utf-8', content: Buffer.from('<p>page</p>') }]]),
      port: 0,
      signal: abort.signal,
    })
  })
  afterAll(async () => {
    abort.abort()
    await dashboard.closed
    rmSync(folder, { recursive: true })
  })

  async function ask<T>(path: string, question: unknown): Promise<{ readonly status: number; readonly body: T }> {
    const response = await fetch(`${dashboard.url}api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    })
    return { status: response.status, body: (await response.json()) as T }
  }

  /** Reads events until what was read is enough. */
  async function hear(isEnough: (sections: Partial<Sections>) => boolean): Promise<Partial<Sections>> {
    const leaving = new AbortController()
    const response = await fetch(`${dashboard.url}api/events`, { signal: leaving.signal })
    let text = ''
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString()
        const events = [...text.matchAll(/^event: (\w+)\ndata: (.*)\n\n/gm)]
        const sections = Object.fromEntries(
          events.map(([, name = '', data = '']) => [name, JSON.parse(data) as unknown]),
        )
        if (isEnough(sections)) return sections
      }
    } finally {
      leaving.abort()
    }
    throw new Error(`the events ended early: ${text}`)
  }

  it('serves the page below its token alone, with a policy that allows no script but its own', async () => {
    const page = await fetch(dashboard.url)
    expect(await page.text()).toBe('<p>page</p>')
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/)
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    const { origin } = new URL(dashboard.url)
    for (const path of ['/', '/index.html', `/${'x'.repeat(32)}/`, '/api/events'])
      expect((await fetch(`${origin}${path}`)).status).toBe(404)
    expect((await fetch(`${dashboard.url}../../etc/passwd`)).status).toBe(404)
    expect((await fetch(`${dashboard.url}%2e%2e%2fmesh.yaml`)).status).toBe(404)
  })

  it('tells an open page of all sections, and draws policy, splits and endpoints', async () => {
    const { topology, proxies, problems, mesh: summary } = await hear((heard) => heard.fault !== undefined)
    expect(summary).toEqual({ title: 'shop', version: '0.0.0' })
    expect(proxies).toEqual([
      { ...store, participation: 'participant', certificateExpires: certificate.expiration, services: ['shop/store'] },
    ])
    expect(problems).toEqual([])
    const arrows = (topology as Topology).edges.map(({ from, kind, to, rules, isMutualTls }) => [
      `${from} ${kind} ${to}${isMutualTls === true ? ' by mutual TLS' : ''}`,
      ...rules.map(({ request }) => request),
    ])
    expect(arrows).toEqual([
      ['service shop/store split service shop/store-v2', '10 %'],
      ['service shop/store serves workload shop/store'],
      ['workload shop/buyer access service shop/store by mutual TLS', expect.stringContaining('/books')],
      ['workload shop/buyer access service shop/store-v2 by mutual TLS', expect.stringContaining('/books')],
    ])
    expect(
      (topology as Topology).nodes.map(({ id, proxies: names, classes }) => [id, ...names, ...classes]),
    ).toContainEqual(['workload shop/store', 'shop/store-1-0', 'envoy'])
  })

  it('shows the requests that sidecars have counted since they were asked before', async () => {
    const { traffic = [] } = await hear((heard) => (heard.traffic ?? []).length > 0)
    expect(traffic).toMatchObject([{ from: 'workload shop/store', to: 'service shop/store', success: 1 }])
    expect(traffic[0]?.perSecond).toBeGreaterThan(0)
  })

  it('asks nothing while no page is open, and reads the mesh again only when something has changed', async () => {
    await hear((heard) => heard.fault !== undefined)
    const before = loads
    await hear((heard) => heard.fault !== undefined)
    expect(loads).toBe(before)
    // A poll that had begun may end after the page was closed.
    for (let asked = -1; asked !== statuses;) {
      asked = statuses
      await new Promise((resolve) => setTimeout(resolve, 2 * POLL_MS))
    }
  })

  it('keeps what it knows when the controller is lost, and says so', async () => {
    isControllerThere = false
    const heard = await hear(({ fault }) => fault === 'the controller does not answer')
    expect(heard.topology?.nodes.length).toBeGreaterThan(0)
    isControllerThere = true
    expect((await hear(({ fault }) => fault === '')).fault).toBe('')
  })

  it('answers which rule decides, with its place', async () => {
    const question = { from: 'shop/buyer', to: 'shop/store', method: 'GET', path: '/books', headers: '' }
    const { status, body } = await ask<WhyAnswer>('why', question)
    expect(status).toBe(200)
    expect(body.allowed).toBe(true)
    expect(body.lines.join('\n')).toMatch(/TrafficTarget shop\/buying spec\.rules\[0\] {2}mesh\.yaml:\d+:\d+/)
    await expect(ask('why', { ...question, path: '/staff' })).resolves.toMatchObject({ body: { allowed: false } })
    await expect(ask('why', { ...question, from: 'nobody' })).resolves.toEqual({
      status: 200,
      body: { error: expect.stringContaining('write <namespace>/<service account>') },
    })
  })

  it('answers what a change would do without applying it', async () => {
    const removal = await ask<WhatIfAnswer>('what-if', { yaml: '', remove: ['TrafficTarget/shop/buying'] })
    expect(removal.body.access.lost.map(({ caller, destination }) => `${caller} ${destination}`)).toContain(
      'shop/buyer shop/store:80',
    )
    const broken = await ask<WhatIfAnswer>('what-if', { yaml: 'kind: [', remove: [] })
    expect(broken.body.findings.new).toMatchObject([{ code: 'OSM_SPEC_SYNTAX', origin: { file: 'pasted.yaml' } }])
    await expect(ask('what-if', { yaml: '', remove: ['TrafficTarget/shop/none'] })).resolves.toEqual({
      status: 200,
      body: { error: 'the mesh has no object TrafficTarget/shop/none' },
    })
  })

  it('refuses questions of another form or size', async () => {
    await expect(ask('why', { from: 'shop/buyer' })).resolves.toMatchObject({
      status: 400,
      body: { error: 'to: must be a text' },
    })
    await expect(ask('what-if', { yaml: '' })).resolves.toMatchObject({ status: 400 })
    await expect(ask('what-if', { yaml: '#'.repeat(1 << 21), remove: [] })).resolves.toMatchObject({ status: 413 })
  })

  it('refuses a port that is in use, and says how to choose another', async () => {
    const port = Number(new URL(dashboard.url).port)
    await expect(serveDashboard({ watched, files: new Map(), port, signal: abort.signal })).rejects.toMatchObject({
      code: 'OSM_CLI_DASHBOARD_PORT',
    })
  })
})
