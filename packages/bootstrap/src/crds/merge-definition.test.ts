import { describe, expect, it } from '@jest/globals'
import { type CustomResourceDefinition, customResourceDefinitions, type KubernetesObject } from '@osm-ts/kubernetes'

import { isForeign, mergeDefinition, missingVersions } from './merge-definition.js'
import { asDefinition } from './stored-definition.js'

function definitionOf(kind: string): CustomResourceDefinition {
  const found = customResourceDefinitions().find(({ spec }) => spec.names.kind === kind)
  if (found === undefined) throw new Error(`no definition of ${kind}`)
  return found
}

const split = definitionOf('TrafficSplit')
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }

function live(
  versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[],
  metadata: Partial<KubernetesObject['metadata']> = {},
  spec: Readonly<Record<string, unknown>> = {},
): KubernetesObject {
  return {
    ...split,
    metadata: {
      name: split.metadata.name,
      resourceVersion: '7',
      labels: { 'app.kubernetes.io/name': 'openservicemesh.io' },
      ...metadata,
    },
    spec: { ...split.spec, ...spec, versions: versions.map((version) => ({ ...version, schema })) },
  }
}

const versionsOf = (object: unknown): unknown =>
  asDefinition(object as KubernetesObject).spec.versions.map(({ name, served, storage }) => [name, served, storage])

describe('mergeDefinition', () => {
  it('is our definition where there is none', () => {
    const merged = mergeDefinition(split, undefined, false)
    expect(merged.spec).toEqual(split.spec)
    expect(merged.metadata.labels).toEqual({ 'app.kubernetes.io/name': 'openservicemesh.io' })
  })

  it('keeps every version that is served or may be stored', () => {
    const merged = mergeDefinition(
      split,
      live([
        { name: 'v1alpha1', served: true, storage: false },
        { name: 'v1alpha2', served: true, storage: true },
        { name: 'v9', served: false, storage: false },
      ]),
      false,
    )
    const ours = split.spec.versions.map(({ name, served, storage }) => [name, served || name === 'v1alpha1', storage])
    expect(versionsOf(merged)).toEqual([...ours, ['v9', false, false]])
    expect(asDefinition(merged).spec.versions.find(({ name }) => name === 'v1alpha1')?.schema).toEqual(schema)
    expect(asDefinition(merged).spec.versions.filter(({ storage }) => storage)).toHaveLength(1)
  })

  it('serves again what was taken out, and drops what older versions of OSM left', () => {
    const stripped = live(
      [{ name: 'v1alpha4', served: false, storage: true }],
      {},
      {
        conversion: { strategy: 'Webhook', webhook: { clientConfig: {} } },
        preserveUnknownFields: true,
      },
    )
    expect(mergeDefinition(split, stripped, false).spec).toEqual(split.spec)
  })

  it('labels for the reconciler only where it runs, and keeps labels and annotations of others', () => {
    const metadata = { labels: { team: 'a', 'openservicemesh.io/reconcile': 'true' }, annotations: { note: 'x' } }
    const off = mergeDefinition(split, live([], metadata), false).metadata
    expect(off.labels).toEqual({ team: 'a', 'app.kubernetes.io/name': 'openservicemesh.io' })
    expect(off.annotations).toEqual({ note: 'x' })
    const on = mergeDefinition(split, live([], metadata), true).metadata
    expect(on.labels).toMatchObject({ team: 'a', 'openservicemesh.io/reconcile': 'true' })
  })
})

describe('isForeign', () => {
  it('is a definition of a shared group without our label', () => {
    expect(isForeign(live([], { labels: {} }))).toBe(true)
    expect(isForeign(live([]))).toBe(false)
    expect(isForeign(live([], { labels: { 'openservicemesh.io/reconcile': 'true' } }))).toBe(false)
    expect(isForeign({ ...definitionOf('MeshConfig'), metadata: { name: 'x' } })).toBe(false)
  })

  it('matters where it does not serve what the mesh reads', () => {
    expect(missingVersions(split, live([{ name: 'v1alpha2', served: true, storage: true }]))).toEqual(['v1alpha4'])
    expect(missingVersions(split, live([{ name: 'v1alpha4', served: true, storage: false }]))).toEqual([])
    expect(missingVersions(split, live([{ name: 'v1alpha4', served: false, storage: true }]))).toEqual(['v1alpha4'])
  })
})
