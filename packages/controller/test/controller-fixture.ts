import {
  createLogger,
  FolderSecrets,
  type MeshObject,
  ObjectDecoder,
  objectKey,
  type ObjectKey,
  type ObjectSource,
  parseMeshDomains,
  readObjects,
  SnapshotEndpointsProvider,
  type SourceChange,
  standalonePreset,
} from '@osm-ts/core'

import type { ControllerOptions } from '../src/options.js'

/** Domains of the mesh of these tests. */
export const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

/** Everything but what a test has to say itself. */
export const base = {
  meshName: 'test',
  osmNamespace: 'osm-system',
  domains,
  secrets: new FolderSecrets({ secrets: () => new Map(), onSecrets: () => () => undefined }, () => undefined),
  endpointsProviders: (feed) => [new SnapshotEndpointsProvider({ id: 'text', ...feed.reader() })],
  enrolment: { mode: 'all' },
  meshConfig: { preset: standalonePreset, anyNamespace: true, required: false },
  environment: { OSM_DEFAULT_SIDECAR_CLASS: 'fake' },
  proxyServer: { address: '127.0.0.1', port: () => 0 },
  serverNames: { dnsNames: [], ipAddresses: ['127.0.0.1'] },
  bindAddress: '127.0.0.1',
  ports: { debug: 0, health: 0 },
  debugServer: 'always',
  version: { version: '1', git_commit: 'c', build_date: 'd' },
} satisfies Partial<ControllerOptions>
/** A logger that no one hears. */
export const silent = () => createLogger('test', 'disabled', { write: () => undefined })

const decoders = [new ObjectDecoder('user'), new ObjectDecoder('runtime')]

/** Objects in memory, edited by YAML. */
export class TextSource implements ObjectSource {
  readonly name = 'text'
  readonly #objects = new Map<ObjectKey, MeshObject>()
  readonly #listeners = new Set<(change: SourceChange) => void>()

  put(yaml: string): void {
    const upserts = decoders.flatMap((decoder) => readObjects(yaml, { decoder }).objects)
    for (const object of upserts) this.#objects.set(objectKey(object), object)
    this.#tell({ upserts, deletes: [], problems: [] })
  }

  remove(key: string): void {
    this.#objects.delete(key as ObjectKey)
    this.#tell({ upserts: [], deletes: [key as ObjectKey], problems: [] })
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  problems(): [] {
    return []
  }

  objects(): readonly MeshObject[] {
    return [...this.#objects.values()]
  }

  locate(): undefined {
    return undefined
  }

  #tell(change: SourceChange): void {
    for (const listener of [...this.#listeners]) listener(change)
  }
}
