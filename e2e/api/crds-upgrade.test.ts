import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Kind } from '@osm-ts/core'
import {
  inVersion,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { definitionOf, liveDefinition, untilServed, type AnyDefinition } from './support/definitions.js'
import { untilNoConflict } from './support/until-no-conflict.js'

const signal = AbortSignal.timeout(240_000)
const namespace = 'shop'

/** Fields by which these tests distinguish objects. */
interface Seen extends KubernetesObject {
  readonly spec: Readonly<Record<string, unknown>>
}

let server: OwnApiServer
let api: KubernetesApi

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  const metadata = { name: namespace }
  await api.create(resourceTypes.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata }, { signal })
})

afterAll(() => server.stop())

/** The object as the API server gives it. */
const seen = (object: KubernetesObject | undefined): Seen => object as Seen

/** Does what the bootstrap program does to a definition that is there already. */
async function replaceDefinition(ours: AnyDefinition): Promise<void> {
  await untilNoConflict(async () => {
    const { live } = await liveDefinition(api, ours.metadata.name, signal)
    const metadata = { ...ours.metadata, resourceVersion: live?.metadata.resourceVersion ?? '' }
    return api.replace(resourceTypes.CustomResourceDefinition, { ...ours, metadata }, { signal })
  })
  await untilServed(api, ours, signal)
}

async function create(kind: Kind, manifest: KubernetesManifest, version?: string): Promise<Seen> {
  const type = version === undefined ? resourceTypes[kind] : inVersion(resourceTypes[kind], version)
  return seen(await api.create(type, manifest, { signal }))
}

function split(name: string, version: string): KubernetesManifest {
  const spec = { service: 'web', backends: [{ service: 'web-v1', weight: 90 }] }
  return { apiVersion: `split.smi-spec.io/${version}`, kind: 'TrafficSplit', metadata: { name, namespace }, spec }
}

function config(name: string, version: string, spec: object): KubernetesManifest {
  return { apiVersion: `config.openservicemesh.io/${version}`, kind: 'MeshConfig', metadata: { name, namespace }, spec }
}

describe('a cluster in which OSM was installed', () => {
  const kinds = ['TrafficSplit', 'MeshConfig', 'Egress'] as const
  const egress = {
    apiVersion: 'policy.openservicemesh.io/v1alpha1',
    kind: 'Egress',
    metadata: { name: 'former', namespace },
    spec: { sources: [{ kind: 'ServiceAccount', name: 'web', namespace }], ports: [{ number: 80, protocol: 'http' }] },
  }

  /** As OSM had it: without status, TrafficSplits stored by v1alpha2, and the conversion webhook of releases 1.0 and 1.1. */
  function formerDefinition(kind: (typeof kinds)[number]): AnyDefinition {
    const { spec, ...rest } = definitionOf(kind)
    const versions = spec.versions.flatMap(({ subresources: _none, ...version }) => {
      if (kind !== 'TrafficSplit') return [version]
      return version.name === 'v1alpha2' ? [{ ...version, storage: true }] : []
    })
    const clientConfig = { service: { name: 'osm-bootstrap', namespace: 'osm-system', path: '/convert', port: 9443 } }
    const conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } }
    return {
      ...rest,
      spec: {
        ...spec,
        versions,
        // OSM had short names that say what the singular says.
        ...(kind === 'MeshConfig' && { names: { ...spec.names, shortNames: ['meshconfig'] } }),
        ...(kind === 'Egress' && { conversion }),
      },
    }
  }

  beforeAll(async () => {
    for (const kind of kinds) {
      const former = formerDefinition(kind)
      await api.create(resourceTypes.CustomResourceDefinition, former, { signal })
      await untilServed(api, former, signal)
    }
    await create('TrafficSplit', split('former', 'v1alpha2'), 'v1alpha2')
    await create('MeshConfig', config('former', 'v1alpha1', { sidecar: { logLevel: 'info' } }), 'v1alpha1')
    await create('Egress', egress)
    for (const kind of kinds) await replaceDefinition(definitionOf(kind))
  })

  it('keeps what was stored, under every version', async () => {
    const name = { namespace, name: 'former' }
    for (const version of ['v1alpha2', 'v1alpha4']) {
      const object = seen(await api.get(inVersion(resourceTypes.TrafficSplit, version), name, signal))
      expect(object).toMatchObject({
        apiVersion: `split.smi-spec.io/${version}`,
        spec: { service: 'web', backends: [{ service: 'web-v1', weight: 90 }] },
      })
    }
    await expect(api.get(resourceTypes.MeshConfig, name, signal)).resolves.toMatchObject({
      apiVersion: 'config.openservicemesh.io/v1alpha2',
      spec: { sidecar: { logLevel: 'info' } },
    })
    await expect(api.get(resourceTypes.Egress, egress.metadata, signal)).resolves.toMatchObject({ spec: egress.spec })
  })

  it('remembers by which versions objects were stored', async () => {
    const { storedVersions } = await liveDefinition(api, 'trafficsplits.split.smi-spec.io', signal)
    expect([...storedVersions].sort()).toEqual(['v1alpha2', 'v1alpha4'])
  })

  it.each(kinds)('has the names of %s accepted, though it had others', async (kind) => {
    const { conditions } = await liveDefinition(api, definitionOf(kind).metadata.name, signal)
    expect(conditions).toEqual(['Established True', 'NamesAccepted True'])
  })

  it('takes a status for objects that had none', async () => {
    const status = { conditions: [{ type: 'Accepted', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }] }
    const { apiVersion, kind, metadata } = egress
    const options = { fieldManager: 'osm-controller', force: true, subresource: 'status', signal }
    const written = await api.apply(resourceTypes.Egress, { apiVersion, kind, metadata, status }, options)
    expect(written).toMatchObject({ spec: egress.spec, status })
  })

  it('can be written to by old and new versions without loss', async () => {
    const name = { namespace, name: 'former' }
    const current = seen(await api.get(resourceTypes.TrafficSplit, name, signal))
    const matches = [{ kind: 'HTTPRouteGroup', name: 'canary' }]
    await api.replace(resourceTypes.TrafficSplit, { ...current, spec: { ...current.spec, matches } }, { signal })
    const old = inVersion(resourceTypes.TrafficSplit, 'v1alpha2')
    await api.mergePatch(old, name, { metadata: { labels: { edited: 'by-an-old-client' } } }, { signal })
    const again = seen(await api.get(old, name, signal))
    await api.replace(old, { ...again, metadata: { ...again.metadata, annotations: { edited: 'again' } } }, { signal })
    await expect(api.get(resourceTypes.TrafficSplit, name, signal)).resolves.toMatchObject({ spec: { matches } })
  })
})
