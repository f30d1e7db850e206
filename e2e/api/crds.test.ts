import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Kind, kindWrittenAs } from '@osm-ts/core'
import {
  customKinds,
  customResourceDefinitions,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  resourceTypes,
} from '@osm-ts/kubernetes'
import {
  exampleObjects,
  faultyField,
  fullObjects,
  storedObjects,
  titled,
  type WrittenObject,
} from '@osm-ts/core/testing'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { definitionOf, liveDefinition, untilServed } from './support/definitions.js'

const signal = AbortSignal.timeout(240_000)
const namespace = 'shop'
const definitions = customResourceDefinitions()
const asBootstrap = { fieldManager: 'osm-bootstrap', force: true, signal } as const

/** Fields by which these tests distinguish objects. */
interface Seen extends KubernetesObject {
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
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
/** Asks as kubectl does, which takes no field that the kind does not have. Nothing is stored. */
async function tryToCreate(object: WrittenObject): Promise<unknown> {
  const { spec } = definitionOf(object.kind)
  const within = spec.scope === 'Namespaced' ? `namespaces/${namespace}/` : ''
  const path = `/apis/${object.apiVersion}/${within}${spec.names.plural}?dryRun=All&fieldValidation=Strict`
  return api.post(path, { ...object, metadata: { ...object.metadata, namespace: undefined } }, signal)
}

async function create(kind: Kind, manifest: KubernetesManifest): Promise<Seen> {
  return seen(await api.create(resourceTypes[kind], manifest, { signal }))
}

function config(name: string, version: string, spec: object): KubernetesManifest {
  return { apiVersion: `config.openservicemesh.io/${version}`, kind: 'MeshConfig', metadata: { name, namespace }, spec }
}

describe('the definitions', () => {
  beforeAll(async () => {
    for (const definition of definitions)
      await api.apply(resourceTypes.CustomResourceDefinition, definition, asBootstrap)
    for (const definition of definitions) await untilServed(api, definition, signal)
  })

  it.each(definitions.map(({ metadata }) => metadata.name))(
    '%s is served, and nothing is held against it',
    async (name) => {
      const { conditions, live } = await liveDefinition(api, name, signal)
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

  it('match the shipped files as kubectl reads them', async () => {
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

/** The Gateway API has a kind of the name of one of ours. */
function isCustom({ apiVersion, kind }: WrittenObject): boolean {
  return customKinds().some((custom) => custom === kindWrittenAs(kind, apiVersion))
}
