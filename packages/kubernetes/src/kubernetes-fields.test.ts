import { readFileSync } from 'node:fs'

import * as kubernetes from '@kubernetes/client-node'
import { describe, expect, it } from '@jest/globals'
import { ServiceSpecSchema } from '@osm-ts/core'

import { sidecarContainer, uuid } from '../test/cluster-fixture.js'
import type { KubernetesObject } from './api.js'
import { readSlice } from './source/endpoint-slice.js'
import { Deduplicator } from './source/deduplicator.js'
import { podSignerName } from './sidecar-volume.js'
import { PodReader } from './source/pod.js'
import { ProbeBindingsReader } from './source/probe-annotation.js'

/** A class of the client: the fields of a type of the API. */
interface ApiType {
  readonly attributeTypeMap: readonly { readonly baseName: string; readonly type: string }[]
}

/** What a row of the page says of a field. */
interface Row {
  readonly path: string
  readonly readers: readonly string[]
}

const page = readFileSync(new URL('../../../docs/reference/kubernetes-fields.md', import.meta.url), 'utf8')
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), rowsOf(section)] as const),
)
const metadata = sections.get('Metadata of all three') ?? []
const kinds = ['Service', 'EndpointSlice', 'Pod'] as const

function rowsOf(section: string): readonly Row[] {
  return [...section.matchAll(/^\| `([^`]+)` +\| ([a-z, ]+?) +\| (.+?) +\|$/gm)].flatMap(
    ([, field = '', readers = '']) => expanded(field).map((path) => ({ path, readers: readers.split(', ') })),
  )
}

/** `a.{b,c}.d` as `a.b.d` and `a.c.d`. */
function expanded(field: string): readonly string[] {
  const found = /^(.*?)\{([^}]*)\}(.*)$/.exec(field)
  if (found === null) return [field]
  const [, before = '', names = '', after = ''] = found
  return names.split(',').flatMap((name) => expanded(`${before}${name}${after}`))
}

function apiType(name: string): ApiType | undefined {
  const found: unknown = Reflect.get(kubernetes, name)
  return typeof found === 'function' && 'attributeTypeMap' in found ? (found as unknown as ApiType) : undefined
}

/** Fields of a type that no row is about, each with all that is inside it. Rows that are about a field are taken out of the set. */
function uncovered(type: ApiType, rows: ReadonlySet<string>, unused: Set<string>, at = ''): readonly string[] {
  return type.attributeTypeMap.flatMap(({ baseName, type: typeName }) => {
    const path = `${at}${baseName}`
    unused.delete(path)
    if (rows.has(path)) return []
    const inner = apiType(/\w*V1\w+/.exec(typeName)?.[0] ?? '')
    const below = `${path}${typeName.startsWith('Array<') ? '[]' : ''}.`
    const isDescribed = [...rows].some((row) => row.startsWith(below))
    return inner !== undefined && isDescribed ? uncovered(inner, rows, unused, below) : [path]
  })
}

/** The value, such that each path at which something is read is noted. */
function recorded(value: unknown, read: Set<string>, path = '', known = new Map<object, unknown>()): unknown {
  if (typeof value !== 'object' || value === null) return value
  const before = known.get(value)
  if (before !== undefined) return before
  const proxy: unknown = new Proxy(value, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key)
      if (typeof key === 'symbol' || typeof member === 'function' || (Array.isArray(target) && key === 'length'))
        return member
      const place = Array.isArray(target) ? `${path}[]` : path === '' ? key : `${path}.${key}`
      read.add(place)
      return recorded(member, read, place, known)
    },
  })
  known.set(value, proxy)
  return proxy
}

/** Paths of the rows that say that the controller reads them. */
function ofController(rows: readonly Row[]): readonly string[] {
  return rows.filter(({ readers }) => readers.includes('controller')).map(({ path }) => path)
}

/** Paths that were read although no row of the controller's is about them, or is about something in them. */
function unmentioned(read: ReadonlySet<string>, rows: readonly string[]): readonly string[] {
  return [...read].filter(
    (path) =>
      !rows.some((row) => row === path || row.startsWith(path) || path.startsWith(`${row}.`) || path === `${row}[]`),
  )
}

const container = (name: string, more: object = {}) => ({
  name,
  ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  ...more,
})

/** Pods that between them have all fields that may be read. */
const pods = [
  {
    containers: [container('app'), sidecarContainer],
    initContainers: [container('helper', { restartPolicy: 'Always' })],
    addresses: { podIPs: [{ ip: '10.0.0.1' }] },
  },
  {
    containers: [container('app')],
    initContainers: [{ ...container('sidecar'), ...sidecarContainer, restartPolicy: 'Always' }],
    addresses: { podIP: '10.0.0.1' },
  },
].map(({ containers, initContainers, addresses }) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-0',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web', 'osm-proxy-uuid': uuid(1) },
    annotations: { 'openservicemesh.io/sidecar-class': 'envoy' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
  },
  spec: {
    serviceAccountName: 'web',
    restartPolicy: 'Never',
    hostname: 'web-0',
    subdomain: 'web',
    nodeName: 'node',
    containers,
    initContainers,
    volumes: [
      {
        name: 'files',
        projected: {
          sources: [
            { podCertificate: { signerName: podSignerName('osm') } },
            { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
          ],
        },
      },
      { name: 'bootstrap', secret: { secretName: `sidecar-bootstrap-config-${uuid(1)}` } },
    ],
  },
  status: {
    phase: 'Running',
    hostIP: '10.9.0.1',
    conditions: [{ type: 'Ready', status: 'True', reason: 'r' }],
    containerStatuses: [{ name: 'app', ready: true, state: { terminated: { exitCode: 42, reason: 'r' } } }],
    ...addresses,
  },
}))

const slice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-a', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP', appProtocol: 'http' }],
  endpoints: [
    {
      addresses: ['10.0.0.1'],
      conditions: { ready: false, serving: true, terminating: true },
      targetRef: { kind: 'Pod', name: 'web-0', namespace: 'shop' },
      hostname: 'web-0',
      nodeName: 'node',
      zone: 'east-1',
      hints: { forZones: [{ name: 'east-1' }] },
    },
  ],
}

describe('the page of Kubernetes fields', () => {
  it.each(kinds)('has a row for every field of a %s, and no other', (kind) => {
    const own = sections.get(kind) ?? []
    const rows = new Set([...metadata, ...own].map(({ path }) => path))
    const unused = new Set(own.map(({ path }) => path))
    const type = apiType(`V1${kind}`)
    expect(type && uncovered(type, rows, unused)).toEqual([])
    expect([...unused]).toEqual([])
  })

  it('says of each field which programs read it', () => {
    const words = [...sections.values()].flat().map(({ readers }) => readers.join(', '))
    expect([...new Set(words)].sort()).toEqual(['controller', 'controller, injector', 'injector', 'no'])
    const paths = [...sections].flatMap(([title, rows]) => rows.map(({ path }) => `${title}: ${path}`))
    expect(paths.filter((path, index) => paths.indexOf(path) !== index)).toEqual([])
  })

  it('names what the controller reads of a Service', () => {
    const paths = (schema: object, at: string): readonly string[] => {
      const { properties, items } = schema as { properties?: Readonly<Record<string, object>>; items?: object }
      if (items !== undefined && 'properties' in items) return paths(items, `${at}[]`)
      if (properties === undefined) return [at]
      return Object.entries(properties).flatMap(([name, inner]) => paths(inner, `${at}.${name}`))
    }
    const rows = ofController(sections.get('Service') ?? [])
    expect([...rows].sort()).toEqual([...paths(ServiceSpecSchema, 'spec')].sort())
  })

  it.each<[string, string, (read: Set<string>) => void]>([
    [
      'a Pod',
      'Pod',
      (read) => {
        const reader = new PodReader(new Deduplicator(), new ProbeBindingsReader())
        for (const pod of pods) reader.read(recorded(pod, read) as KubernetesObject)
      },
    ],
    [
      'an EndpointSlice',
      'EndpointSlice',
      (read) => readSlice(recorded(slice, read) as KubernetesObject, new Deduplicator()),
    ],
  ])('names what the controller reads of %s, and nothing else', (_, kind, readAll) => {
    const read = new Set<string>()
    readAll(read)
    const own = ofController(sections.get(kind) ?? [])
    // What is read of metadata differs by kind, and problems name the version.
    const all = [...own, ...ofController(metadata), 'metadata.resourceVersion']
    expect(unmentioned(read, all)).toEqual([])
    expect(own.filter((path) => !read.has(path))).toEqual([])
  })
})
