import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  customKinds,
  customResourceDefinitions,
  inVersion,
  resourceTypes,
  type CustomResourceDefinition,
  type Kind,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
} from '@osm-ts/core'
import {
  exampleObjects,
  faultyField,
  fullObjects,
  storedObjects,
  titled,
  type WrittenObject,
} from '../../packages/core/test/spec/stored-objects.js'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'

const signal = AbortSignal.timeout(240_000)
const namespace = 'shop'
const definitions = customResourceDefinitions()
const asBootstrap = { fieldManager: 'osm-bootstrap', force: true, signal } as const

/** Fields by which these tests tell objects apart. */
interface Seen extends KubernetesObject {
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/** A definition of ours, or one as OSM had it. */
interface AnyDefinition extends KubernetesManifest {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly storage: boolean
      readonly subresources?: object
    }[]
  }
}

let server: OwnApiServer
let api: KubernetesApi

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  const metadata = { name: namespace }
  await api.create(resourceTypes.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata }, { signal })
}, 120_000)

afterAll(() => server.stop())

/** The object as the API server gives it. */
const seen = (object: KubernetesObject | undefined): Seen => object as Seen
const definitionOf = (kind: Kind): CustomResourceDefinition => {
  const found = definitions.find(({ spec }) => spec.names.kind === kind)
  if (found === undefined) throw new Error(`no definition of ${kind}`)
  return found
}

async function liveDefinition(name: string) {
  const live = await api.get(resourceTypes.CustomResourceDefinition, { namespace: '', name }, signal)
  const { conditions, storedVersions } = (live?.status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null
    readonly storedVersions?: readonly string[]
  }
  return {
    live,
    storedVersions: storedVersions ?? [],
    conditions: (conditions ?? []).map(({ type, status }) => `${type} ${status}`).sort(),
  }
}

/** The API server says that a kind is established a moment before it serves it as it is defined now. */
async function untilServed({ metadata, spec }: AnyDefinition): Promise<void> {
  const version = spec.versions.find(({ storage }) => storage)
  const { plural } = spec.names
  const expected = version?.subresources === undefined ? [plural] : [plural, `${plural}/status`]
  for (;;) {
    const { conditions } = await liveDefinition(metadata.name)
    const path = `/apis/${spec.group}/${version?.name ?? ''}`
    const found = (await api.read(path, signal)) as
      { readonly resources: readonly { readonly name: string }[] } | undefined
    const names = found?.resources.map(({ name }) => name) ?? []
    if (conditions.includes('Established True') && expected.every((name) => names.includes(name))) return
    await new Promise((resolve) => setTimeout(resolve, 50))
    signal.throwIfAborted()
  }
}

/** Does what the bootstrap program does to a definition that is there already. */
async function replaceDefinition(ours: CustomResourceDefinition): Promise<void> {
  const { live } = await liveDefinition(ours.metadata.name)
  const metadata = { ...ours.metadata, resourceVersion: live?.metadata.resourceVersion ?? '' }
  await api.replace(resourceTypes.CustomResourceDefinition, { ...ours, metadata }, { signal })
  await untilServed(ours)
}

/** Asks as kubectl does, which takes no field that the kind does not have. Nothing is stored. */
async function tryToCreate(object: WrittenObject): Promise<unknown> {
  const { spec } = definitionOf(object.kind as Kind)
  const within = spec.scope === 'Namespaced' ? `namespaces/${namespace}/` : ''
  const path = `/apis/${object.apiVersion}/${within}${spec.names.plural}?dryRun=All&fieldValidation=Strict`
  return api.post(path, { ...object, metadata: { ...object.metadata, namespace: undefined } }, signal)
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
      spec: { ...spec, versions, ...(kind === 'Egress' ? { conversion } : {}) },
    }
  }

  beforeAll(async () => {
    for (const kind of kinds) {
      const former = formerDefinition(kind)
      await api.create(resourceTypes.CustomResourceDefinition, former, { signal })
      await untilServed(former)
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
    const { storedVersions, conditions } = await liveDefinition('trafficsplits.split.smi-spec.io')
    expect([...storedVersions].sort()).toEqual(['v1alpha2', 'v1alpha4'])
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

describe('the definitions', () => {
  beforeAll(async () => {
    for (const definition of definitions)
      await api.apply(resourceTypes.CustomResourceDefinition, definition, asBootstrap)
    for (const definition of definitions) await untilServed(definition)
  })

  it.each(definitions.map(({ metadata }) => metadata.name))(
    '%s is served, and nothing is held against it',
    async (name) => {
      const { conditions, live } = await liveDefinition(name)
      // Not structural, or names of another definition: each would be a further condition.
      expect(conditions).toEqual(['Established True', 'NamesAccepted True'])
      expect(live?.metadata.labels).toMatchObject({ 'app.kubernetes.io/name': 'openservicemesh.io' })
    },
  )

  it('change nothing when they are applied again', async () => {
    const versions = async () => {
      const page = await api.list(resourceTypes.CustomResourceDefinition, {}, signal)
      return page.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])
    }
    const before = await versions()
    for (const definition of definitions)
      await api.apply(resourceTypes.CustomResourceDefinition, definition, asBootstrap)
    expect(await versions()).toEqual(before)
  })

  it('are the files that are shipped, as kubectl reads them', async () => {
    const { KUBECTL_BIN: kubectl = 'kubectl' } = process.env
    const folder = new URL('../../packages/bootstrap/crds', import.meta.url).pathname
    const access = ['--kubeconfig', server.description.kubeconfigPath]
    const { stdout } = await promisify(execFile)(kubectl, [...access, 'diff', '--server-side', '-f', folder])
    expect(stdout).toBe('')
  })

  it('put every kind into the list of a mesh', async () => {
    const found = (await api.read('/apis/policy.openservicemesh.io/v1alpha1', signal)) as {
      readonly resources: readonly { readonly name: string; readonly categories?: readonly string[] }[]
    }
    const retries = found.resources.filter(({ name }) => name.startsWith('retries'))
    expect(retries.map(({ name }) => name).sort()).toEqual(['retries', 'retries/status'])
    expect(retries.some(({ categories }) => categories?.includes('osm') === true)).toBe(true)
  })

  describe('take', () => {
    it.each(titled(storedObjects('accepted')))('%s', async (_title, object) => {
      await expect(tryToCreate(object)).resolves.toMatchObject({ kind: object.kind })
    })

    it.each(titled(storedObjects('reported')))('%s, though the mesh will not', async (_title, object) => {
      await expect(tryToCreate(object)).resolves.toMatchObject({ kind: object.kind })
    })

    it.each(titled([...exampleObjects(), ...fullObjects()].filter(isCustom)))('all of %s', async (_title, object) => {
      const creation = tryToCreate(object)
      // The full one names every provider of roots that there is; a real one names one.
      if (object.kind === 'MeshRootCertificate') await expect(creation).rejects.toMatchObject({ status: 422 })
      else await expect(creation).resolves.toMatchObject({ kind: object.kind, spec: object.spec ?? {} })
    })
  })

  describe('refuse', () => {
    it.each(titled(storedObjects('refused')))('%s', async (_title, object) => {
      await expect(tryToCreate(object)).rejects.toThrow(faultyField(object))
    })
  })

  it('drop fields that a kind does not have, and keep free ones', async () => {
    const pluginConfig = await create('PluginConfig', {
      apiVersion: 'plugin.flomesh.io/v1alpha1',
      kind: 'PluginConfig',
      metadata: { name: 'free', namespace },
      spec: { plugin: 'a', destinationRefs: [], config: { any: { thing: [1, 'two', null] } }, unknown: 1 },
    })
    expect(pluginConfig.spec).toEqual({
      plugin: 'a',
      destinationRefs: [],
      config: { any: { thing: [1, 'two', null] } },
    })
  })

  it('write the defaults of OSM', async () => {
    const spec = { sidecar: {}, traffic: { inboundExternalAuthorization: { enable: true } } }
    const stored = await create('MeshConfig', config('defaults', 'v1alpha2', spec))
    expect(stored.spec).toEqual({
      sidecar: { tlsMinProtocolVersion: 'TLSv1_2', tlsMaxProtocolVersion: 'TLSv1_3', localProxyMode: 'Localhost' },
      traffic: { inboundExternalAuthorization: { enable: true, statPrefix: 'inboundExtAuthz', timeout: '1s' } },
    })
  })

  it('keep spec and status apart, and the conditions of several writers too', async () => {
    const apiVersion = 'policy.openservicemesh.io/v1alpha1'
    const metadata = { name: 'again', namespace }
    const spec = {
      source: { kind: 'ServiceAccount', name: 'web', namespace },
      destinations: [],
      retryPolicy: { retryOn: '5xx', perTryTimeout: '1s', numRetries: 1, retryBackoffBaseInterval: '1s' },
    }
    const created = await create('Retry', { apiVersion, kind: 'Retry', metadata, spec, status: { currentStatus: 'x' } })
    expect(created.status).toBeUndefined()
    expect(created.metadata.generation).toBe(1)
    const writeCondition = (fieldManager: string, type: string, members: object = {}) =>
      api.apply(
        resourceTypes.Retry,
        { apiVersion, kind: 'Retry', metadata, status: { ...members, conditions: [{ type, status: 'True' }] } },
        { fieldManager, force: false, subresource: 'status', signal },
      )
    await writeCondition('osm-controller', 'Accepted', { currentStatus: 'committed', observedGeneration: 1 })
    const both = seen(await writeCondition('somebody', 'Reviewed', { unknownToUs: { kept: true } }))
    expect(both.status).toEqual({
      currentStatus: 'committed',
      observedGeneration: 1,
      unknownToUs: { kept: true },
      conditions: [
        { type: 'Accepted', status: 'True' },
        { type: 'Reviewed', status: 'True' },
      ],
    })
    expect(both.metadata.generation).toBe(1)
    const withoutDestinations = { spec: { destinations: null } }
    await expect(api.mergePatch(resourceTypes.Retry, metadata, withoutDestinations, { signal })).rejects.toThrow(
      'spec.destinations',
    )
    const patch = { spec: { retryPolicy: { numRetries: 2 } } }
    await expect(api.mergePatch(resourceTypes.Retry, metadata, patch, { signal })).resolves.toMatchObject({
      metadata: { generation: 2 },
      status: { currentStatus: 'committed' },
    })
  })
})

function isCustom({ kind }: WrittenObject): boolean {
  return customKinds().some((custom) => custom === kind)
}
