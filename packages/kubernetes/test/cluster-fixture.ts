import type { Logger } from '@osm-ts/driver-api'
import type { Clock, SourceChange } from '@osm-ts/core'

import type { KubernetesManifest, ResourceType } from '../src/api.js'
import { resourceTypes } from '../src/resource-types.js'
import { KubernetesSource, type KubernetesSourceOptions } from '../src/source/kubernetes-source.js'
import type { FakeApiServer } from './fake-api-server.js'

/** A clock that runs so many times faster than the machine's, so that pauses of seconds take moments. */
export function fastClock(factor: number): Clock {
  const start = Date.now()
  return {
    now: () => start + (Date.now() - start) * factor,
    setTimer: (callback, delayMs) => {
      const timer = setTimeout(callback, delayMs / factor)
      return () => clearTimeout(timer)
    },
  }
}

/** A logger that no one reads. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** UUIDs that are told apart by a number. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

/** The volume by which a pod holds the certificate of its sidecar. */
export function bootstrapVolume(uuid: string): Readonly<Record<string, unknown>> {
  return { name: 'bootstrap', secret: { secretName: `sidecar-bootstrap-config-${uuid}` } }
}

/** The container of a sidecar, as far as it is told from others. */
export const sidecarContainer = {
  name: 'sidecar',
  volumeMounts: [{ name: 'bootstrap', mountPath: '/etc/envoy' }],
} as const

/** A pod as the API server holds one that was injected and runs. */
export function podManifest(
  namespace: string,
  name: string,
  options: {
    readonly uuid?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly account?: string
    readonly ips?: readonly string[]
    readonly ready?: boolean
    readonly spec?: Readonly<Record<string, unknown>>
    readonly phase?: string
    /** More of the status. */
    readonly status?: Readonly<Record<string, unknown>>
  } = {},
): KubernetesManifest {
  const { labels = {}, annotations = {}, account = name, ips = ['10.1.0.1'], ready = true, spec = {} } = options
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { ...labels, ...(options.uuid === undefined ? {} : { 'osm-proxy-uuid': options.uuid }) },
      annotations: { 'openservicemesh.io/sidecar-class': 'envoy', ...annotations },
    },
    spec: {
      serviceAccountName: account,
      containers: [
        { name: 'app', image: 'app', ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }] },
        { ...sidecarContainer, image: 'envoy', ports: [{ name: 'proxy-admin', containerPort: 15000 }] },
      ],
      ...(options.uuid === undefined ? {} : { volumes: [bootstrapVolume(options.uuid)] }),
      ...spec,
    },
    status: {
      phase: options.phase ?? 'Running',
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...options.status,
    },
  }
}

/** A slice as the controller of endpoint slices writes it. */
export function sliceManifest(
  namespace: string,
  service: string,
  endpoints: readonly Readonly<Record<string, unknown>>[],
  options: {
    readonly suffix?: string
    readonly addressType?: 'IPv4' | 'IPv6' | 'FQDN'
    readonly ports?: readonly Readonly<Record<string, unknown>>[]
  } = {},
): KubernetesManifest {
  const { suffix = 'a', addressType = 'IPv4', ports = [{ name: 'http', port: 8080, protocol: 'TCP' }] } = options
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-${suffix}`, namespace, labels: { 'kubernetes.io/service-name': service } },
    addressType,
    ports,
    endpoints,
  }
}

/** A cluster of objects in a fake API server. */
export class ClusterFixture {
  readonly server: FakeApiServer

  constructor(server: FakeApiServer) {
    this.server = server
  }

  put(type: ResourceType, manifest: KubernetesManifest): void {
    const { metadata, apiVersion: _apiVersion, kind: _kind, ...rest } = manifest
    this.server.put(type, metadata, rest)
  }

  namespace(name: string, mesh: string | undefined, labels: Readonly<Record<string, string>> = {}): void {
    const monitored = mesh === undefined ? {} : { 'openservicemesh.io/monitored-by': mesh }
    this.server.put(resourceTypes.Namespace, { name, labels: { ...monitored, ...labels } })
  }

  pod(...args: Parameters<typeof podManifest>): void {
    this.put(resourceTypes.Pod, podManifest(...args))
  }

  slice(...args: Parameters<typeof sliceManifest>): void {
    this.put(resourceTypes.EndpointSlice, sliceManifest(...args))
  }

  service(namespace: string, name: string, spec: Readonly<Record<string, unknown>> = {}): void {
    this.server.put(
      resourceTypes.Service,
      { name, namespace },
      {
        spec: {
          clusterIP: '10.96.0.1',
          selector: { app: name },
          ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
          ...spec,
        },
      },
    )
  }

  account(namespace: string, name: string): void {
    this.server.put(resourceTypes.ServiceAccount, { name, namespace })
  }

  custom(
    kind: keyof typeof resourceTypes,
    namespace: string,
    name: string,
    spec: Readonly<Record<string, unknown>>,
    metadata: Partial<KubernetesManifest['metadata']> = {},
  ): void {
    const place = namespace === '' ? { name } : { namespace, name }
    this.server.put(resourceTypes[kind], { generation: 1, ...metadata, ...place }, { spec })
  }

  /** Has the API server tell which versions of a group it serves. */
  serve(group: string, versions: Readonly<Record<string, readonly string[]>>): void {
    this.server.documents.set(`/apis/${group}`, { versions: Object.keys(versions).map((version) => ({ version })) })
    for (const [version, plurals] of Object.entries(versions))
      this.server.documents.set(`/apis/${group}/${version}`, { resources: plurals.map((name) => ({ name })) })
  }

  /** Has the API server answer that there is no such kind. */
  withhold(type: ResourceType): void {
    this.server.fault({
      action: { kind: 'status', status: 404, reason: 'NotFound', message: 'the server could not find the resource' },
      when: ({ path }) => path.startsWith(`/apis/${type.group}/`) && path.split('/').includes(type.plural),
      times: Number.POSITIVE_INFINITY,
    })
  }
}

/** A source that runs, and all that it has told. */
export class RunningSource {
  readonly source: KubernetesSource
  readonly changes: SourceChange[] = []
  readonly #end = new AbortController()

  private constructor(source: KubernetesSource) {
    this.source = source
    source.subscribe((change) => this.changes.push(change))
  }

  static async create(server: FakeApiServer, options: Partial<KubernetesSourceOptions> = {}): Promise<RunningSource> {
    return new RunningSource(
      new KubernetesSource({
        api: await server.api(),
        meshName: 'osm',
        osmNamespace: 'osm-system',
        clock: fastClock(20),
        random: () => 0.5,
        logger: silentLogger,
        ...options,
      }),
    )
  }

  start(): Promise<void> {
    return this.source.start(this.#end.signal)
  }

  /** Keys of all objects, sorted. */
  keys(): readonly string[] {
    return this.source
      .objects()
      .map(({ kind, metadata: { namespace, name } }) => `${kind}/${namespace}/${name}`)
      .sort()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.source.finished()
  }
}
