import { setMaxListeners } from 'node:events'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type Problem, systemClock } from '@osm-ts/core'
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  type KubernetesApi,
  type KubernetesManifest,
  type ObjectStatus,
  type RecordedEvent,
  resourceTypes,
  StatusWriter,
} from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ClusterObjects } from './support/cluster-objects.js'
import { definitionOf, untilServed } from './support/definitions.js'
import { WatchedMesh } from './support/watched-mesh.js'

const signal = AbortSignal.timeout(240_000)
setMaxListeners(0, signal)

const ingress = {
  spec: {
    backends: [{ name: 'store', port: { number: 80, protocol: 'http' } }],
    sources: [{ kind: 'IPRange', name: '10.0.0.0/8' }],
  },
}
const retry = {
  spec: {
    source: { kind: 'ServiceAccount', name: 'client', namespace: 'shop' },
    destinations: [{ kind: 'Service', name: 'store', namespace: 'shop' }],
    retryPolicy: { retryOn: '5xx', numRetries: 3, perTryTimeout: '1s', retryBackoffBaseInterval: '1s' },
  },
}
const asInstaller = { fieldManager: 'osm-bootstrap', force: true, signal } as const

let server: OwnApiServer
let api: KubernetesApi
let cluster: ClusterObjects
let mesh: WatchedMesh
let problems: readonly Problem[] = []
let changed: () => void = () => undefined
let events: RecordedEvent[] = []
let end = new AbortController()
let finished: Promise<void> = Promise.resolve()

const fault = (kind: string, name: string): Problem => ({
  code: 'OSM_SPEC_CONFLICT',
  severity: 'error',
  message: 'is claimed by another object',
  object: { kind, namespace: 'shop', name },
  field: 'spec',
})

async function install(definition: CustomResourceDefinition): Promise<void> {
  await api.apply(resourceTypes.CustomResourceDefinition, definition, asInstaller)
  await untilServed(api, definition, signal)
}

async function lead(): Promise<void> {
  end = new AbortController()
  events = []
  mesh = new WatchedMesh({ api, meshName: 'osm', osmNamespace: 'osm-system' })
  await mesh.start()
  const writer = new StatusWriter({
    api,
    targets: mesh.source,
    events: { record: (event) => events.push(event) },
    *problems() {
      yield
      return problems
    },
    proxies: () => [],
    awaited: () => () => false,
    subscribe: (listener) => {
      changed = listener
      return () => undefined
    },
    clock: systemClock,
    random: Math.random,
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
  })
  finished = writer.run(end.signal)
}

async function stored(kind: 'IngressBackend' | 'Retry' | 'Egress', name: string) {
  const object = await api.get(resourceTypes[kind], { namespace: 'shop', name }, signal)
  return {
    version: object?.metadata.resourceVersion,
    generation: object?.metadata.generation,
    status: object?.status as ObjectStatus | undefined,
  }
}

/** Waits until a status says so. */
async function says(kind: 'IngressBackend' | 'Retry', name: string, accept: (status: ObjectStatus) => boolean) {
  return eventually(
    () => stored(kind, name),
    ({ status }) => status !== undefined && accept(status),
    { what: `a status of ${kind} ${name}` },
  )
}

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  cluster = new ClusterObjects(api, signal)
  await Promise.all(customResourceDefinitions().map(install))
  await cluster.namespace('shop', 'osm')
})

afterEach(async () => {
  end.abort()
  await finished
  await mesh.stop()
})

afterAll(() => server.stop())

describe('statuses of objects', () => {
  it('are written once, beside those of others, and by the next leader only if they differ', async () => {
    problems = [fault('IngressBackend', 'front')]
    await cluster.put(resourceTypes.IngressBackend, { name: 'front', namespace: 'shop' }, ingress)
    await lead()
    const first = await says('IngressBackend', 'front', ({ currentStatus }) => currentStatus === 'error')
    expect(first.status).toEqual({
      observedGeneration: 1,
      currentStatus: 'error',
      reason: 'spec: is claimed by another object',
      conditions: [
        expect.objectContaining({
          type: 'Accepted',
          status: 'False',
          reason: 'OSM_SPEC_CONFLICT',
          observedGeneration: 1,
        }),
        expect.objectContaining({ type: 'Programmed', status: 'False', reason: 'NotAccepted' }),
      ],
    })
    const audited = {
      apiVersion: 'policy.openservicemesh.io/v1alpha1',
      kind: 'IngressBackend',
      metadata: { name: 'front', namespace: 'shop' },
      status: {
        conditions: [
          { type: 'Audited', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    } as const satisfies KubernetesManifest
    await api.apply(resourceTypes.IngressBackend, audited, {
      subresource: 'status',
      fieldManager: 'auditor',
      force: false,
      signal,
    })
    problems = []
    changed()
    const second = await says('IngressBackend', 'front', ({ currentStatus }) => currentStatus === 'committed')
    expect(second.status?.conditions.map(({ type, status }) => `${type} ${status}`).sort()).toEqual([
      'Accepted True',
      'Audited True',
      'Programmed True',
    ])
    expect(mesh.changes).toEqual([])
    end.abort()
    await finished
    await mesh.stop()
    await lead()
    await cluster.put(resourceTypes.Retry, { name: 'marker', namespace: 'shop' }, retry)
    await says('Retry', 'marker', ({ currentStatus }) => currentStatus === 'committed')
    expect((await stored('IngressBackend', 'front')).version).toBe(second.version)
    expect(events).toEqual([])
  })

  it('observe generations', async () => {
    problems = []
    await cluster.put(resourceTypes.Retry, { name: 'twice', namespace: 'shop' }, retry)
    await lead()
    await says('Retry', 'twice', ({ observedGeneration }) => observedGeneration === 1)
    const more = { spec: { ...retry.spec, retryPolicy: { ...retry.spec.retryPolicy, numRetries: 4 } } }
    await cluster.put(resourceTypes.Retry, { name: 'twice', namespace: 'shop' }, more)
    const { status } = await says('Retry', 'twice', ({ observedGeneration }) => observedGeneration === 2)
    expect(status?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2])
  })

  it('say what definitions of OSM know, and become events where those know none', async () => {
    problems = [fault('IngressBackend', 'old'), fault('Egress', 'old')]
    // Both as OSM installed them: a status of two words, and none at all.
    await install(asOfOsm('IngressBackend', { currentStatus: { type: 'string' }, reason: { type: 'string' } }))
    await install(asOfOsm('Egress', undefined))
    await cluster.put(resourceTypes.IngressBackend, { name: 'old', namespace: 'shop' }, ingress)
    await cluster.put(
      resourceTypes.Egress,
      { name: 'old', namespace: 'shop' },
      {
        spec: {
          sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
          hosts: ['example.com'],
          ports: [{ number: 80, protocol: 'http' }],
        },
      },
    )
    await lead()
    const { status } = await says('IngressBackend', 'old', ({ currentStatus }) => currentStatus === 'error')
    expect(status).toEqual({ currentStatus: 'error', reason: 'spec: is claimed by another object' })
    await eventually(
      () => events.length,
      (count) => count > 0,
      { what: 'an event' },
    )
    expect(events).toEqual([
      {
        object: expect.objectContaining({ kind: 'Egress', namespace: 'shop', name: 'old', uid: expect.any(String) }),
        type: 'Warning',
        reason: 'OSM_SPEC_CONFLICT',
        message: 'spec: is claimed by another object',
      },
    ])
    expect((await stored('Egress', 'old')).status).toBeUndefined()
  })
})

/** A definition with a status of so many fields, or without the subresource. */
function asOfOsm(kind: string, fields: Readonly<Record<string, unknown>> | undefined): CustomResourceDefinition {
  const definition = definitionOf(kind)
  const versions = definition.spec.versions.map(({ subresources, schema, ...version }) => {
    const { openAPIV3Schema } = schema
    const properties = { ...openAPIV3Schema.properties, status: { type: 'object', properties: fields ?? {} } }
    return {
      ...version,
      schema: { openAPIV3Schema: { ...openAPIV3Schema, properties } },
      ...(fields === undefined ? {} : { subresources }),
    }
  })
  // What is changed is what OSM's definitions lack; the rest has the type of ours.
  return { ...definition, spec: { ...definition.spec, versions } } as CustomResourceDefinition
}
