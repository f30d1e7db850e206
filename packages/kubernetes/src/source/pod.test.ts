import { describe, expect, it } from '@jest/globals'

import { podManifest, sidecarContainer, uuid } from '../../test/cluster-fixture.js'
import type { KubernetesManifest } from '../api.js'
import { Deduplicator } from './deduplicator.js'
import { podAccount, podAddresses, podLabels, PodReader, sameEndpoint, samePod, type PodItem } from './pod.js'
import { formatProbeBindings, probeBindingsAnnotation, ProbeBindingsReader } from './probe-annotation.js'

const reader = new PodReader(new Deduplicator(), new ProbeBindingsReader())
const read = (...args: Parameters<typeof podManifest>): PodItem | undefined => reader.read(podManifest(...args))
const binding = {
  container: 'app',
  probe: 'liveness',
  port: 15901,
  path: '/osm-liveness-probe',
  target: { type: 'http', port: 8080, path: '/live' },
  timeoutMs: 1000,
} as const

type PodLists = Readonly<Partial<Record<'containers' | 'initContainers', readonly object[]>>>

/** The pod with other metadata. */
function withMetadata(pod: KubernetesManifest, metadata: Partial<KubernetesManifest['metadata']>): KubernetesManifest {
  return { ...pod, metadata: { ...pod.metadata, ...metadata } }
}

describe('a pod with a sidecar', () => {
  it('is an instance of the mesh, with all that policies need of it', () => {
    const pod = read('shop', 'web-0', {
      uuid: uuid(1),
      labels: { app: 'web' },
      account: 'store',
      ips: ['10.0.0.1', 'fd00::1'],
      annotations: { [probeBindingsAnnotation]: formatProbeBindings([binding]) },
      spec: {
        hostname: 'web-0',
        subdomain: 'web',
        containers: [
          {
            name: 'app',
            ports: [
              { name: 'http', containerPort: 8080 },
              { containerPort: 9000, protocol: 'TCP' },
              { name: 'dns', containerPort: 53, protocol: 'UDP' },
            ],
          },
          { name: 'twin', ports: [{ name: 'http', containerPort: 8080 }] },
        ],
        initContainers: [
          { ...sidecarContainer, restartPolicy: 'Always', ports: [{ containerPort: 15000 }] },
          { name: 'cache', restartPolicy: 'Always', ports: [{ name: 'cache', containerPort: 6379 }] },
          { name: 'setup', ports: [{ containerPort: 1 }] },
        ],
      },
    })
    expect(pod?.problems).toEqual([])
    expect(pod?.instance?.metadata).toEqual({
      name: 'web-0',
      namespace: 'shop',
      labels: { app: 'web' },
      annotations: {},
    })
    expect(pod?.instance?.spec).toEqual({
      uuid: uuid(1),
      workload: 'web-0',
      serviceAccountName: 'store',
      sidecarClass: 'envoy',
      mode: 'transparent',
      hostname: 'web-0',
      addresses: ['10.0.0.1', 'fd00::1'],
      ports: [{ name: 'http', port: 8080 }, { port: 9000 }, { name: 'cache', port: 6379 }],
      probeBindings: [binding],
      ready: true,
      createdAt: '2026-01-01T00:00:00Z',
    })
    expect(Object.isFrozen(pod?.instance?.spec.ports)).toBe(true)
  })

  it('has its certificate from a Workload API if it has the volume of that, whatever its annotations say', () => {
    const manifest = podManifest('shop', 'web-0', { uuid: uuid(1), ips: ['10.0.0.1'] })
    const { spec } = manifest as { readonly spec?: { readonly volumes?: readonly object[] } }
    const annotated = withMetadata(manifest, { annotations: { 'openservicemesh.io/workload-identity': 'spire' } })
    expect(reader.read(annotated)?.instance?.spec.serviceCredential).toBeUndefined()
    const mounting = {
      ...manifest,
      spec: { ...spec, volumes: [...(spec?.volumes ?? []), { name: 'osm-workload-api' }] },
    }
    expect(reader.read(mounting)?.instance?.spec.serviceCredential).toBe('workload-api')
  })

  it.each([
    [
      'beside a native sidecar',
      { initContainers: [{ ...sidecarContainer, name: 'osm-sidecar', restartPolicy: 'Always' }] },
    ],
    ['beside a classic sidecar', { containers: [{ ...sidecarContainer, name: 'osm-sidecar' }] }],
  ])('has the ports of a container of the user that is called sidecar, %s', (_, spec: PodLists) => {
    const ports = [{ name: 'http', containerPort: 8080 }]
    const containers = [{ name: 'sidecar', ports }, ...(spec.containers ?? [])]
    expect(read('shop', 'a', { uuid: uuid(1), spec: { ...spec, containers } })?.instance?.spec.ports).toEqual([
      { name: 'http', port: 8080 },
    ])
  })

  it('answers no probe on a port that its sidecar declares, whatever that is called', () => {
    const aimed = { ...binding, target: { ...binding.target, port: 9901 } }
    const sidecar = { ...sidecarContainer, ports: [{ containerPort: 9901 }] }
    for (const name of ['sidecar', 'osm-sidecar']) {
      const pod = read('shop', 'a', {
        uuid: uuid(1),
        annotations: { [probeBindingsAnnotation]: formatProbeBindings([aimed]) },
        spec: { containers: [{ name: 'sidecar-of-mine' }, { ...sidecar, name }] },
      })
      expect(pod?.instance?.spec.probeBindings).toEqual([])
      expect(pod?.problems.map(({ message }) => message)).toEqual([expect.stringContaining('port 9901')])
    }
  })

  it('has a host name only under a subdomain, and is ready only while no one deletes it', () => {
    expect(read('shop', 'a', { uuid: uuid(1), spec: { hostname: 'a' } })?.instance?.spec.hostname).toBeUndefined()
    expect(read('shop', 'a', { uuid: uuid(1), ready: false })?.instance?.spec.ready).toBe(false)
    const deleted = withMetadata(podManifest('shop', 'a', { uuid: uuid(1) }), {
      deletionTimestamp: '2026-01-01T00:00:00Z',
    })
    expect(reader.read(deleted)?.instance?.spec.ready).toBe(false)
  })

  it('is named after what it is a replica of', () => {
    const owned = (kind: string, name: string, labels: Readonly<Record<string, string>> = {}) =>
      reader.read(
        withMetadata(podManifest('shop', 'p', { uuid: uuid(1), labels }), {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' },
            { apiVersion: 'apps/v1', kind, name, uid: 'u', controller: true },
          ],
        }),
      )?.instance?.spec.workload
    expect(owned('StatefulSet', 'db')).toBe('db')
    expect(owned('ReplicaSet', 'web-5d4c')).toBe('web-5d4c')
    const labels = { 'pod-template-hash': '5d4c' }
    const pod = withMetadata(podManifest('shop', 'p', { uuid: uuid(1), labels }), {
      labels: { ...labels, 'osm-proxy-uuid': uuid(1) },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d4c', uid: 'u', controller: true }],
    })
    expect(reader.read(pod)?.instance?.spec.workload).toBe('web')
  })

  it('is awaited, and no instance, before it has an address or if its id is none', () => {
    expect(read('shop', 'a', { uuid: uuid(1), ips: [] })).toMatchObject({ awaited: true, problems: [] })
    const bad = read('shop', 'a', { uuid: 'ABC' })
    expect(bad?.instance).toBeUndefined()
    expect(bad).toMatchObject({
      awaited: false,
      problems: [
        {
          code: 'OSM_SOURCE_POD',
          object: { kind: 'Pod', namespace: 'shop', name: 'a' },
          field: 'metadata.labels[osm-proxy-uuid]',
        },
      ],
    })
  })

  it('answers no probes, and is said to, if what the injector wrote was altered', () => {
    const pod = read('shop', 'a', { uuid: uuid(1), annotations: { [probeBindingsAnnotation]: '[{}]' } })
    expect(pod?.instance?.spec.probeBindings).toEqual([])
    expect(pod?.problems).toEqual([expect.objectContaining({ code: 'OSM_SOURCE_POD', severity: 'warning' })])
  })
})

describe('a pod without a sidecar', () => {
  it('is an endpoint with an account, unless it has ended', () => {
    const pod = read('shop', 'plain', { labels: { app: 'web' }, account: '', spec: { serviceAccountName: '' } })
    expect(pod).toMatchObject({ name: 'plain', awaited: false, account: 'default', labels: { app: 'web' } })
    expect(pod && [podAccount(pod), podAddresses(pod), podLabels(pod)]).toEqual([
      'default',
      ['10.1.0.1'],
      { app: 'web' },
    ])
    for (const phase of ['Succeeded', 'Failed']) expect(read('shop', 'done', { phase })).toBeUndefined()
  })
})

describe('two versions of a pod', () => {
  const base = { uuid: uuid(1), labels: { app: 'web' } }
  const before = read('shop', 'a', base) as PodItem
  const after = (options: Parameters<typeof podManifest>[2]) => read('shop', 'a', { ...base, ...options }) as PodItem

  it('are the same if nothing that is read differs', () => {
    const written = reader.read(withMetadata(podManifest('shop', 'a', base), { resourceVersion: '7' }))
    expect(written && samePod(before, written)).toBe(true)
    expect(samePod(before, after({ annotations: { 'a.example.com/b': 'c' }, spec: { nodeName: 'n' } }))).toBe(true)
  })

  it('read one after the other or each by itself give the same, and share what is the same', () => {
    const probes = { [probeBindingsAnnotation]: formatProbeBindings([binding]) }
    const variants: readonly Parameters<typeof podManifest>[2][] = [
      {},
      base,
      { ...base, labels: { app: 'web', tier: 'front' } },
      { ...base, labels: {} },
      { ...base, uuid: uuid(2) },
      { ...base, uuid: 'none' },
      { ...base, ips: [] },
      { ...base, ips: ['10.0.0.9'] },
      { ...base, account: 'other' },
      { ...base, annotations: { 'openservicemesh.io/sidecar-class': 'pipy', ...probes } },
      { ...base, annotations: probes, ready: false },
      {
        ...base,
        spec: { containers: [{ name: 'app', ports: [{ containerPort: 80 }, { name: 'b', containerPort: 81 }] }] },
      },
      { ...base, spec: { hostname: 'a', subdomain: 'web' } },
      { labels: { app: 'web' }, account: 'other' },
    ]
    for (const [from, first] of variants.entries())
      for (const [to, second] of variants.entries()) {
        const manifest = podManifest('shop', 'a', second)
        const alone = new PodReader(new Deduplicator(), new ProbeBindingsReader()).read(manifest)
        expect([from, to, reader.read(manifest, read('shop', 'a', first))]).toEqual([from, to, alone])
      }
    const again = new PodReader(new Deduplicator(), new ProbeBindingsReader()).read(
      podManifest('shop', 'a', base),
      before,
    )
    expect(again?.instance?.metadata.labels).toBe(before.instance?.metadata.labels)
    expect(again?.instance?.spec.ports).toBe(before.instance?.spec.ports)
  })

  it('are the same endpoint whether ready or not, and another one for anything else', () => {
    expect(samePod(before, after({ ready: false }))).toBe(false)
    expect(sameEndpoint(before, after({ ready: false }))).toBe(true)
    for (const change of [
      { uuid: uuid(2) },
      { labels: { app: 'other' } },
      { account: 'other' },
      { ips: ['10.0.0.9'] },
      { ips: [] },
      { annotations: { 'openservicemesh.io/sidecar-class': 'pipy' } },
    ])
      expect([change, sameEndpoint(before, after(change))]).toEqual([change, false])
  })
})

describe('Deduplicator', () => {
  it('gives equal values one place, whatever else it has forgotten', () => {
    const deduplicator = new Deduplicator(2)
    const first = deduplicator.value({ a: ['b'] })
    expect(deduplicator.value({ a: ['b'] })).toBe(first)
    expect(Object.isFrozen(first.a)).toBe(true)
    for (const text of ['c', 'd', 'e']) expect(deduplicator.text(text)).toBe(text)
    for (const text of ['c', 'd', 'e']) expect(deduplicator.value({ a: [text] })).toEqual({ a: [text] })
    expect(deduplicator.value({ a: ['b'] })).toEqual(first)
  })
})
