import { describe, expect, it } from '@jest/globals'

import { SnapshotBuilder, type SnapshotUpdate } from '../snapshot/index.js'
import { makeObjectKey, ObjectDecoder, readObjects, type MeshObject } from '../spec/index.js'
import { known, type Answer, type Endpoint, type EndpointsAnnouncement, type EndpointsProvider } from './endpoint.js'
import { MergedEndpointsProvider } from './merged-provider.js'
import { SnapshotEndpointsProvider } from './snapshot-endpoints-provider.js'

const decoder = new ObjectDecoder()
const runtimeDecoder = new ObjectDecoder('runtime')

const userText = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  selector: { app: web }
  ports: [{ name: http, port: 80, targetPort: http }, { name: admin, port: 81, targetPort: 9000 }, { name: dns, port: 53, protocol: UDP }]
---
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { selector: { app: db }, ports: [{ port: 3306 }] }
---
apiVersion: v1
kind: Service
metadata: { name: idle, namespace: shop }
spec: { selector: { app: idle }, ports: [{ port: 80 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: web, namespace: shop, labels: { app: web } }
spec: { serviceAccountName: web, command: [x], ports: [{ name: http, port: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: db-meshed, namespace: shop, labels: { app: db } }
spec: { serviceAccountName: db, address: 192.0.2.1, ports: [{ port: 3306 }], sidecarClass: pipy }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: db-plain, namespace: shop, labels: { app: db } }
spec: { serviceAccountName: db-old, address: db.example.com, sidecar: false }
`

function instance(name: string, spec: Readonly<Record<string, unknown>>): string {
  const number = name.replace(/\D/g, '')
  return JSON.stringify({
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'WorkloadInstance',
    metadata: { name, namespace: 'shop', labels: { app: 'web' } },
    spec: {
      uuid: `00000000-0000-4000-8000-00000000000${number}`,
      workload: 'web',
      serviceAccountName: 'web',
      sidecarClass: 'envoy',
      mode: 'transparent',
      hostname: name,
      addresses: [`10.0.0.${number}`, `fd00::${number}`],
      ports: [{ name: 'http', port: 8080 }],
      ready: true,
      createdAt: '2024-01-01T00:00:00Z',
      ...spec,
    },
  })
}

const inbound = { 'shop/web|80': { address: '127.0.0.1', port: 21000 } }
const runtimeText = [
  instance('web-2', {}),
  instance('web-1', {}),
  instance('web-3', { ready: false }),
  instance('web-4', { mode: 'explicit', allocations: { inbound } }),
].join('\n---\n')

function objects(): readonly MeshObject[] {
  const user = readObjects(userText, { decoder })
  const runtime = readObjects(runtimeText, { decoder: runtimeDecoder })
  expect([...user.problems, ...runtime.problems]).toEqual([])
  return [...user.objects, ...runtime.objects]
}

function setUp(extra = ''): {
  provider: SnapshotEndpointsProvider
  apply: (upserts: readonly MeshObject[], deletes?: readonly string[]) => void
} {
  const builder = new SnapshotBuilder(['x'])
  const listeners = new Set<(update: SnapshotUpdate) => void>()
  builder.apply([{ source: 'x', upserts: [...objects(), ...readObjects(extra, { decoder }).objects], deletes: [] }])
  const provider = new SnapshotEndpointsProvider({
    id: 'folder',
    current: () => builder.snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  })
  return {
    provider,
    apply: (upserts, deletes = []) => {
      const update = builder.apply([
        { source: 'x', upserts, deletes: deletes.map((name) => makeObjectKey('WorkloadInstance', 'shop', name)) },
      ])
      for (const listener of listeners) listener(update)
    },
  }
}

const web = { namespace: 'shop', name: 'web' }
const db = { namespace: 'shop', name: 'db' }
const place = ({ servicePort, address, port, targetPort }: Endpoint): string =>
  `${servicePort} ${address}:${port} ${targetPort}`

describe('SnapshotEndpointsProvider', () => {
  it('finds ready instances behind each TCP port: at their own address, or where their sidecar listens', () => {
    const { provider } = setUp()
    const { state, items } = provider.listEndpointsForService(web)
    expect(state).toBe('known')
    expect(items.map(place)).toEqual([
      '80 10.0.0.1:8080 8080',
      '81 10.0.0.1:9000 9000',
      '80 10.0.0.2:8080 8080',
      '81 10.0.0.2:9000 9000',
      '80 127.0.0.1:21000 8080',
    ])
    expect(items[0]).toEqual({
      address: '10.0.0.1',
      port: 8080,
      servicePort: 80,
      targetPort: 8080,
      weight: 100,
      priority: 0,
      account: { namespace: 'shop', name: 'web' },
      sidecar: { uuid: '00000000-0000-4000-8000-000000000001', class: 'envoy', mode: 'transparent' },
      hostname: 'web-1',
      locality: { region: '', zone: '', subZone: '' },
      cluster: '',
    })
  })

  it('finds one instance of a headless service by its host name', () => {
    const { provider } = setUp()
    expect(provider.listEndpointsForService({ namespace: 'shop', name: 'web-2.web' }).items.map(place)).toEqual([
      '80 10.0.0.2:8080 8080',
      '81 10.0.0.2:9000 9000',
    ])
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'web-2.web' }).items).toContainEqual(web)
    expect(provider.listEndpointsForService({ namespace: 'shop', name: 'web-9.web' }).items).toEqual([])
  })

  it('counts unready instances where the service says so', () => {
    const { provider } = setUp(
      userText.replace('selector: { app: web }', 'selector: { app: web }\n  publishNotReadyAddresses: true'),
    )
    expect(provider.listEndpointsForService(web).items.map(({ hostname }) => hostname)).toContain('web-3')
  })

  it('finds workloads that run elsewhere, with and without a sidecar', () => {
    const { items } = setUp().provider.listEndpointsForService(db)
    expect(items.map(place)).toEqual(['3306 192.0.2.1:3306 3306', '3306 db.example.com:3306 3306'])
    expect(items.map(({ sidecar }) => sidecar)).toEqual([{ uuid: '', class: 'pipy', mode: 'transparent' }, undefined])
  })

  it('knows that there is nothing', () => {
    const { provider } = setUp()
    expect(provider.listEndpointsForService({ namespace: 'shop', name: 'idle' })).toEqual(known([]))
    expect(provider.listEndpointsForService({ namespace: 'shop', name: 'none' })).toEqual(known([]))
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'none' })).toEqual(known([]))
  })

  it('relates services and identities', () => {
    const { provider } = setUp()
    expect(provider.listIdentitiesForService(web).items).toEqual([web])
    expect(provider.listIdentitiesForService(db).items).toEqual([
      { namespace: 'shop', name: 'db' },
      { namespace: 'shop', name: 'db-old' },
    ])
    expect(provider.listServicesForIdentity(web).items).toEqual([web])
    expect(provider.listServicesForIdentity({ namespace: 'other', name: 'web' }).items).toEqual([])
    expect(provider.listEndpointsForIdentity({ namespace: 'shop', name: 'db-old' }).items.map(place)).toEqual([
      '3306 db.example.com:3306 3306',
    ])
  })

  it('announces the services and identities that a change concerns', () => {
    const { provider, apply } = setUp()
    const heard: EndpointsAnnouncement[] = []
    const end = provider.announcements((announcement) => heard.push(announcement))
    apply([], ['web-1'])
    expect(heard).toEqual([{ services: [web], accounts: [web] }])
    // A service whose selector moves concerns the workloads it had and those it gets.
    apply(readObjects(userText.replace('selector: { app: db }', 'selector: { app: web }'), { decoder }).objects)
    expect(heard[1]).toEqual({ services: [db], accounts: [db, { namespace: 'shop', name: 'db-old' }, web] })
    apply(readObjects('{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}', { decoder }).objects)
    end()
    apply([], ['web-2'])
    expect(heard).toHaveLength(2)
  })

  describe('with other clusters', () => {
    const imported = `
apiVersion: flomesh.io/v1alpha1
kind: ServiceImport
metadata: { name: NAME, namespace: shop }
spec:
  serviceAccountName: ACCOUNT
  ports:
    - port: 80
      endpoints:
        - { clusterKey: r/z/g/two, target: { host: gw2, ip: 198.51.100.2, port: 8091, path: "" } }
        - { clusterKey: r/z/g/three, target: { host: gw3, ip: 198.51.100.3, port: 8091, path: / } }
        - { clusterKey: r/z/g/two, target: { host: gw4, ip: 198.51.100.4, port: 8091, path: /asks-for-requests } }
---
apiVersion: flomesh.io/v1alpha1
kind: GlobalTrafficPolicy
metadata: { name: NAME, namespace: shop }
spec: { lbType: TYPE, targets: TARGETS }
`
    const other = (name: string, type: string, targets = '[]', account = '"*"') => {
      const replaced = { NAME: name, TYPE: type, TARGETS: targets, ACCOUNT: account }
      const text = Object.entries(replaced).reduce((all, [word, value]) => all.replaceAll(word, value), imported)
      expect(readObjects(text).problems).toEqual([])
      return setUp(text).provider
    }
    const clusters = (name: string, type: string, targets?: string): readonly (readonly [string, number, number])[] =>
      other(name, type, targets)
        .listEndpointsForService({ namespace: 'shop', name })
        .items.filter(({ cluster }) => cluster !== '')
        .map(({ cluster, weight, priority }) => [cluster, weight, priority] as const)

    it('keeps traffic at home by default', () => {
      expect(clusters('web', 'Locality')).toEqual([])
      expect(clusters('nowhere', 'Locality')).toEqual([])
    })

    it('splits it by weight when all are active; 0 counts as 100', () => {
      expect(clusters('web', 'ActiveActive')).toEqual([
        ['r/z/g/two', 100, 0],
        ['r/z/g/three', 100, 0],
      ])
      expect(clusters('web', 'ActiveActive', '[{ clusterKey: r/z/g/two, weight: 0 }]')).toEqual([['r/z/g/two', 100, 0]])
      expect(clusters('web', 'ActiveActive', '[{ clusterKey: r/z/g/three, weight: 7 }]')).toEqual([
        ['r/z/g/three', 7, 0],
      ])
    })

    it('fails over behind what is at home', () => {
      expect(clusters('web', 'FailOver')).toEqual([
        ['r/z/g/two', 100, 1],
        ['r/z/g/three', 100, 1],
      ])
    })

    it('knows the identity that an import names, beside those at home', () => {
      const service = { namespace: 'shop', name: 'web' }
      const far = { namespace: 'shop', name: 'far' }
      const provider = other('web', 'FailOver', '[]', 'far')
      expect(provider.listIdentitiesForService(service).items).toEqual([far, web])
      expect(provider.listServicesForIdentity(far).items).toEqual([service])
      expect(provider.listEndpointsForIdentity(far).items).toHaveLength(2)
      expect(other('web', 'Locality', '[]', 'far').listServicesForIdentity(far).items).toEqual([])
    })
  })
})

/** A provider that answers what it is told to. */
function scripted(id: string, answer: () => Answer<Endpoint>): EndpointsProvider {
  const names = (): Answer<never> => {
    const { state } = answer()
    if (state !== 'known') throw new Error('no names')
    return known([])
  }
  return {
    id,
    listEndpointsForService: answer,
    listEndpointsForIdentity: answer,
    listIdentitiesForService: names,
    listServicesForIdentity: names,
    announcements: () => () => undefined,
  }
}

function endpoint(address: string, weight = 100): Endpoint {
  const [template] = setUp().provider.listEndpointsForService(web).items
  if (template === undefined) throw new Error('no endpoint')
  return { ...template, address, weight }
}

describe('MergedEndpointsProvider', () => {
  const failing = scripted('failing', () => ({
    state: 'unknown',
    items: [],
    conditions: [{ code: 'X', severity: 'warning', message: 'm' }],
  }))

  it('joins endpoints; of equal ones the first provider holds', () => {
    const merged = new MergedEndpointsProvider('all', [
      scripted('one', () => known([endpoint('192.0.2.2', 1)])),
      scripted('two', () => known([endpoint('192.0.2.2', 2), endpoint('192.0.2.1', 2)])),
    ])
    const { state, items } = merged.listEndpointsForService(web)
    expect(state).toBe('known')
    expect(items.map(({ address, weight }) => [address, weight])).toEqual([
      ['192.0.2.1', 2],
      ['192.0.2.2', 1],
    ])
    expect(merged.listServicesForIdentity(web)).toEqual(known([]))
  })

  it('is in doubt as soon as one provider is', () => {
    const merged = new MergedEndpointsProvider('all', [scripted('one', () => known([endpoint('192.0.2.2')])), failing])
    expect(merged.listEndpointsForService(web)).toMatchObject({
      state: 'stale',
      items: [{ address: '192.0.2.2' }],
      conditions: [{ code: 'X' }],
    })
    expect(new MergedEndpointsProvider('all', [failing]).listEndpointsForService(web)).toMatchObject({
      state: 'unknown',
    })
    expect(new MergedEndpointsProvider('all', []).listEndpointsForService(web)).toEqual(known([]))
  })

  it('refuses providers of one id', () => {
    expect(() => new MergedEndpointsProvider('all', [failing, failing])).toThrow(RangeError)
  })
})
