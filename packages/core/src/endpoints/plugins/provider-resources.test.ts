import { describe, expect, it } from '@jest/globals'
import { Listeners } from '@osm-ts/driver-api/toolkit'
import type { ResourceKind } from '@osm-ts/endpoints-api'

import { ProviderResources } from './provider-resources.js'
import { resourceReports } from './resource-report.js'
import type { StoredResource } from './resource-store.js'

const kind: ResourceKind = {
  group: 'cloud.example.com',
  version: 'v1',
  kind: 'CloudResource',
  plural: 'cloudresources',
  specSchema: {
    type: 'object',
    required: ['service'],
    additionalProperties: false,
    properties: { service: { type: 'string', maxLength: 63 }, note: { type: 'string' } },
  },
}
const origin = { kind: 'file', file: 'cloud.yaml', line: 3, column: 1 } as const
const stored = (name: string, spec: unknown, namespace = 'shop', generation = 1): StoredResource => ({
  group: kind.group,
  kind: kind.kind,
  namespace,
  name,
  labels: {},
  generation,
  spec,
  origin,
})

async function setUp(...objects: readonly StoredResource[]) {
  const changes = new Listeners()
  const end = new AbortController()
  let present = objects
  let timer = (): void => undefined
  const resources = await ProviderResources.open({
    kinds: [kind],
    store: {
      open: async () => ({ list: () => present, subscribe: (listener) => changes.add(listener) }),
      problems: () => [],
    },
    setTimer: (callback) => {
      timer = callback
      return () => undefined
    },
    signal: end.signal,
  })
  let told = 0
  resources.subscribe(() => (told += 1))
  const put = (...next: readonly StoredResource[]): void => {
    present = next
    changes.notify()
    timer()
  }
  const state = { id: 'cloud', services: 0, instances: 0, faults: [], resources: [] }
  const conditions = (more: object = {}) =>
    resourceReports(resources, { ...state, state: 'ok', ...more }).map(
      ({ name, conditions: found }) =>
        `${name} ${found.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ')}`,
    )
  return { resources, put, conditions, told: () => told }
}

describe('objects of the kinds of a provider', () => {
  it('reach it when they conform to its schema, as they come, change and go', async () => {
    const { resources, put, told } = await setUp(stored('b', { service: 'web' }), stored('a', { service: 'web' }))
    expect(resources.list().map(({ name }) => name)).toEqual(['a', 'b'])
    put(stored('a', { service: 'web' }))
    put(stored('a', { service: 'other' }, 'shop', 2))
    expect(resources.list()).toEqual([
      { kind: 'CloudResource', namespace: 'shop', name: 'a', labels: {}, generation: 2, spec: { service: 'other' } },
    ])
    expect(told()).toBe(2)
    put(stored('a', { service: 'other' }, 'shop', 2))
    expect(told()).toBe(2)
  })

  it('are refused with the field that is wrong, and keep their last valid version in force', async () => {
    const { resources, put, conditions } = await setUp(stored('a', { service: 'web' }), stored('new', { service: 5 }))
    expect(conditions()).toEqual([
      'new Accepted=False/OSM_ENDPOINTS_RESOURCE Stale=False/UpToDate',
      'a Accepted=True/Accepted Stale=False/UpToDate',
    ])
    put(stored('a', { service: 'web', sevice: 'x' }, 'shop', 2))
    expect(resources.list()).toMatchObject([{ name: 'a', generation: 1, spec: { service: 'web' } }])
    expect(resources.problems()).toEqual([
      {
        code: 'OSM_ENDPOINTS_RESOURCE',
        severity: 'error',
        message: 'spec must NOT have additional properties: sevice; the last valid version stays in force',
        object: { kind: 'CloudResource', namespace: 'shop', name: 'a' },
        origin,
      },
    ])
  })

  it('are bounded by namespace and size, and never at the cost of another namespace', async () => {
    const many = Array.from({ length: 201 }, (_, index) => stored(`m${1_000 + index}`, { service: 'web' }))
    const { resources } = await setUp(...many, stored('one', { service: 'web' }, 'other'))
    expect(resources.list()).toHaveLength(201)
    expect(resources.list().at(-1)).toMatchObject({ namespace: 'shop', name: 'm1199' })
    expect(resources.list()[0]).toMatchObject({ namespace: 'other' })
    expect(resources.problems()).toMatchObject([{ code: 'OSM_ENDPOINTS_BOUND', object: { name: 'm1200' } }])
    const { resources: large } = await setUp(stored('large', { service: 'web', note: 'x'.repeat(65_536) }))
    expect(large.problems()[0]?.message).toContain('65536 are accepted')
  })

  it('are stale while the provider fails', async () => {
    const { conditions } = await setUp(stored('a', { service: 'web' }))
    expect(conditions({ state: 'failing', reason: 'the API is down' })).toEqual([
      'a Accepted=True/Accepted Stale=True/OSM_ENDPOINTS_PROVIDER_FAILED',
    ])
  })

  it.each([
    [{ group: 'policy.openservicemesh.io' }, 'has the group policy.openservicemesh.io'],
    [{ group: 'apps' }, 'has the group apps'],
    [{ group: 'rbac.authorization.k8s.io' }, 'must be a DNS name of its own'],
    [{ kind: 'Service' }, 'Service is not a name'],
    [{ version: 'latest' }, 'has the version latest'],
    [{ plural: '../pods' }, 'has the plural ../pods'],
  ])('may not be of a kind with %j', async (fields, words) => {
    const store = { open: async () => ({ list: () => [], subscribe: () => () => undefined }), problems: () => [] }
    const opening = ProviderResources.open({
      kinds: [{ ...kind, ...fields }],
      store,
      setTimer: () => () => undefined,
      signal: new AbortController().signal,
    })
    await expect(opening).rejects.toThrow(words.replace('its own', "the provider's own"))
  })
})
