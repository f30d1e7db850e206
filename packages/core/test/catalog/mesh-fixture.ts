import { ObjectDecoder } from '../../src/spec/object-decoder.js'
import { readObjects } from '../../src/spec/read-objects.js'
import type { ProxyRef } from '@osm-ts/driver-api'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { MeshCatalog } from '../../src/catalog/mesh-catalog.js'
import type { CatalogUpdate, PolicyChange, PolicyScope } from '../../src/catalog/policy-computation.js'
import type { Locate } from '../../src/catalog/catalog-types.js'
import { resolveMeshConfig, standalonePreset } from '../../src/config/index.js'
import {
  SnapshotEndpointsProvider,
  type EndpointsAnnouncement,
  type EndpointsProvider,
} from '../../src/endpoints/index.js'
import {
  identityOfProxyKey,
  parseMeshDomains,
  parseTrustDomain,
  principalOf,
  proxyCommonName,
  proxyKeyOfInstance,
  serviceIdentity,
  type ProxyKey,
} from '../../src/identity/index.js'
import { SnapshotBuilder, type Snapshot, type SnapshotUpdate } from '../../src/snapshot/index.js'
import type { Enrolment, KindMap, MeshConfigSpec, MeshObject, ObjectKey } from '../../src/spec/index.js'

/** How a fixture's mesh differs from the usual one. */
export interface FixtureOptions {
  readonly trustDomain?: string
  readonly clusterDomain?: string
  readonly enrolment?: Enrolment
  /** After the provider of the folder. */
  readonly moreProviders?: readonly EndpointsProvider[]
  readonly locate?: Locate
  readonly policyScope?: PolicyScope
}

const decoders = { user: new ObjectDecoder('user'), runtime: new ObjectDecoder('runtime') }
const ROOT = '-----BEGIN CERTIFICATE-----\nroot of the fixture\n-----END CERTIFICATE-----\n'

/** A catalog over objects that a test gives it, with the endpoints provider of a folder. */
export class MeshFixture {
  readonly catalog: MeshCatalog
  readonly #builder = new SnapshotBuilder(['test'])
  readonly #listeners = new Set<(update: SnapshotUpdate) => void>()
  readonly #clusterDomain: string
  #announced: EndpointsAnnouncement = { services: [], accounts: [] }
  #started = false

  constructor(options: FixtureOptions = {}) {
    const { trustDomain = 'cluster.local', clusterDomain = 'cluster.local', enrolment = { mode: 'all' } } = options
    const { moreProviders = [], locate, policyScope } = options
    this.#clusterDomain = clusterDomain
    const provider = new SnapshotEndpointsProvider({
      id: 'folder',
      current: () => this.#builder.snapshot,
      subscribe: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
    })
    provider.announcements(({ services, accounts }) => {
      this.#announced = {
        services: [...this.#announced.services, ...services],
        accounts: [...this.#announced.accounts, ...accounts],
      }
    })
    this.catalog = new MeshCatalog({
      meshName: 'osm',
      osmNamespace: 'osm-system',
      domains: parseMeshDomains({ trustDomain, clusterDomain }),
      endpointsProviders: [provider, ...moreProviders],
      enrolment,
      ...(locate === undefined ? {} : { locate }),
      ...(policyScope === undefined ? {} : { policyScope }),
    })
  }

  /** The unfiltered specification. */
  get snapshot(): Snapshot {
    return this.#builder.snapshot
  }

  /** Adds or replaces objects and removes others, and lets the catalog compute. */
  apply(upserts: readonly MeshObject[], deletes: readonly ObjectKey[] = []): readonly PolicyChange[] {
    this.take(upserts, deletes)
    return this.catalog.settle()
  }

  /** The same without computing: that is for anyone who lets the catalog settle. */
  take(upserts: readonly MeshObject[], deletes: readonly ObjectKey[] = []): void {
    const update = this.#builder.apply([{ source: 'test', upserts, deletes }])
    for (const listener of this.#listeners) listener(update)
    const endpoints = this.#announced
    this.#announced = { services: [], accounts: [] }
    const more: CatalogUpdate = this.#started ? {} : { roots: [ROOT] }
    this.#started = true
    this.catalog.take({ spec: update, endpoints, config: this.#config(), ...more })
  }

  /** Documents of all proxies, by `<namespace>/<instance>`. */
  documents(): ReadonlyMap<string, ProxyPolicy> {
    const documents = this.snapshot.list('WorkloadInstance').flatMap((instance) => {
      const { metadata } = instance
      const document = this.catalog.policyDocument(proxyKeyOfInstance(instance))
      return document === undefined ? [] : [[`${metadata.namespace}/${metadata.name}`, document] as const]
    })
    return new Map(documents)
  }

  /** The document of one proxy. */
  document(name: string): ProxyPolicy {
    const document = this.documents().get(name)
    if (document === undefined)
      throw new Error(`no policy for ${name}; there is one for ${[...this.documents().keys()].join(', ')}`)
    return document
  }

  #config() {
    const { snapshot } = this
    const config = snapshot.get('MeshConfig', 'osm-system', 'osm-mesh-config') ?? snapshot.list('MeshConfig')[0]
    const origin = { object: undefined, locate: () => undefined }
    const options = {
      osmNamespace: 'osm-system',
      clusterDomain: this.#clusterDomain,
      environment: {},
      preset: standalonePreset,
    }
    return resolveMeshConfig(config?.spec, options, origin).config
  }
}

/** Objects of a YAML text. Workloads of which the text says no instances get one for each replica, as a supervisor would start them. */
export function objectsOf(text: string, file = 'mesh.yaml'): readonly MeshObject[] {
  const documents = text.split(/^---$/m)
  const isRuntime = (document: string): boolean => /^kind: WorkloadInstance$/m.test(document)
  const read = (documentsRead: readonly string[], writtenBy: 'user' | 'runtime'): readonly MeshObject[] => {
    const { objects, problems } = readObjects(documentsRead.join('\n---\n'), { file, decoder: decoders[writtenBy] })
    const errors = problems.filter(({ severity }) => severity === 'error')
    if (errors.length > 0) throw new Error(`${file}: ${JSON.stringify(errors, undefined, 2)}`)
    return objects
  }
  const user = read(
    documents.filter((document) => !isRuntime(document)),
    'user',
  )
  const runtime = read(documents.filter(isRuntime), 'runtime')
  const started = new Set(
    runtime.map((object) =>
      object.kind === 'WorkloadInstance' ? keyOf(object.metadata.namespace, object.spec.workload) : '',
    ),
  )
  const workloads = user.filter((object) => object.kind === 'Workload')
  const implied = workloads.filter(
    ({ metadata, spec }) => spec.address === undefined && !started.has(keyOf(metadata.namespace, metadata.name)),
  )
  return [...user, ...runtime, ...implied.flatMap((workload, index) => instancesOf(workload, index))]
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** Instances of a workload in transparent mode, as a supervisor would start them. */
export function instancesOf(
  workload: KindMap['Workload'],
  index: number,
  ready = true,
): readonly KindMap['WorkloadInstance'][] {
  const { metadata, spec } = workload
  return Array.from({ length: spec.replicas }, (_, replica) => {
    const name = `${metadata.name}-${replica}`
    return {
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'WorkloadInstance',
      metadata: { name, namespace: metadata.namespace, labels: metadata.labels, annotations: {} },
      spec: {
        uuid: uuidOf(`${metadata.namespace}/${name}`),
        workload: metadata.name,
        serviceAccountName: spec.serviceAccountName,
        sidecarClass: spec.sidecarClass ?? 'envoy',
        mode: 'transparent',
        hostname: name,
        addresses: [`10.${Math.floor(index / 200)}.${index % 200}.${replica + 1}`],
        ports: spec.ports,
        ...(spec.probes === undefined ? {} : { probes: spec.probes }),
        ready,
        createdAt: '2024-01-01T00:00:00Z',
      },
      origin: { kind: 'file', file: 'runtime', line: 1, column: 1 },
    }
  })
}

/** A uuid made of a name: the same on every run. */
export function uuidOf(name: string): string {
  let hash = 0xcbf29ce484222325n
  for (const character of name) hash = BigInt.asUintN(64, (hash ^ BigInt(character.charCodeAt(0))) * 0x100000001b3n)
  const hex = hash.toString(16).padStart(16, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8000-${hex.slice(4, 16)}`
}

/** A MeshConfig with some settings. */
export function meshConfig(spec: MeshConfigSpec): KindMap['MeshConfig'] {
  return {
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshConfig',
    metadata: { name: 'osm-mesh-config', namespace: 'osm-system', labels: {}, annotations: {} },
    spec,
    origin: { kind: 'file', file: 'config', line: 1, column: 1 },
  }
}

/** A proxy of trust domain cluster.local that is connected in a session. */
export function proxyRef(proxy: ProxyKey, session: string): ProxyRef {
  const { uuid, serviceAccount: account } = identityOfProxyKey(proxy)
  return {
    uuid,
    identity: serviceIdentity(account),
    principal: principalOf(account, parseTrustDomain('cluster.local')),
    namespace: account.namespace,
    class: 'envoy',
    commonName: proxyCommonName(identityOfProxyKey(proxy), parseTrustDomain('cluster.local')),
    session,
  }
}
