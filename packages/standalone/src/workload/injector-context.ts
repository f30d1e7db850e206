import {
  driverConfig,
  sidecarImage,
  unknownLocality,
  type MeshConfigurator,
  type MeshDomains,
  type ProxyCertificate,
  type KindMap,
  type Probe,
  type WorkloadPort,
} from '@osm-ts/core'
import type {
  InjectorContext,
  ProxyCommonName,
  ProxyUUID,
  OriginalHealthProbe,
  WorkloadApiSocket,
} from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import { controllerServerName, MESH_NAME, OSM_NAMESPACE } from '../mesh-constants.js'
import type { DesiredInstance } from './desired-instances.js'
import { exclusions } from './exclusions.js'
import type { InstancePlacement } from './instance-placement.js'

const KINDS = ['liveness', 'readiness', 'startup'] as const

const DEFAULT_TIMEOUT_S = 1

type Question = Omit<OriginalHealthProbe, 'container' | 'kind' | 'timeoutMs'>

/** What a context is made from. */
export interface InjectorContextOptions {
  readonly contract: number
  readonly desired: DesiredInstance
  readonly sidecarClass: string
  readonly uuid: ProxyUUID
  readonly certificate: ProxyCertificate
  readonly configurator: MeshConfigurator
  readonly domains: MeshDomains
  readonly environment: Readonly<Record<string, string>>
  readonly trustBundle: readonly string[]
  readonly controlPlanePort: number
  readonly placement: InstancePlacement
  /** Absent: the mesh gives the service certificate. */
  readonly workloadApi: WorkloadApiSocket | undefined
  readonly signal: AbortSignal
}

/** Everything that a driver may know about an instance that is about to start. */
export function injectorContext(options: InjectorContextOptions): InjectorContext {
  const { desired, sidecarClass, uuid, certificate, configurator, domains, environment, placement, signal } = options
  const config = configurator.current()
  return {
    contract: options.contract,
    meshName: MESH_NAME,
    osmNamespace: OSM_NAMESPACE,
    podNamespace: desired.namespace,
    pod: podDescription(desired, uuid),
    podOS: process.platform === 'darwin' ? 'darwin' : 'linux',
    proxyUUID: uuid,
    proxyCommonName: certificate.commonName as ProxyCommonName, // that of a proxy's certificate
    bootstrapCertificate: {
      chain: certificate.chain,
      expiry: new Date(certificate.expiration).toISOString(),
      serialNumber: certificate.serialNumber,
    },
    configurator: configurator.view(),
    driverConfig: driverConfig(config, sidecarClass),
    // A process has no image, and a patch must name one.
    sidecarImage: sidecarImage(config, sidecarClass, 'linux', environment) || `localhost/${sidecarClass}`,
    pullPolicy: 'IfNotPresent',
    resources: config.sidecar.resources,
    logLevel: config.sidecar.logLevel,
    ...exclusions(config, desired.workload),
    interceptionMode: placement.interceptionMode,
    listen: placement.listen,
    locality: unknownLocality,
    nativeSidecar: false,
    originalHealthProbes: originalProbes(desired.workload),
    controlPlane: {
      address: placement.controllerAddress,
      port: options.controlPlanePort,
      serverName: controllerServerName(domains),
    },
    trustBundle: options.trustBundle,
    ...(options.workloadApi === undefined ? {} : { workloadApi: options.workloadApi }),
    dryRun: false,
    signal,
  }
}

/** The workload in the shape of a pod. Its environment is left out: it may hold secrets. */
function podDescription(
  { namespace, name, workload, program }: DesiredInstance,
  uuid: string,
): { readonly [key: string]: JsonValue } {
  const { labels, annotations } = workload.metadata
  const ports = workload.spec.ports.map(({ name: portName, port }) => ({
    ...(portName !== undefined && { name: portName }),
    containerPort: port,
  }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: uuid, labels, annotations },
    spec: {
      serviceAccountName: workload.spec.serviceAccountName,
      containers: [{ name: workload.metadata.name, command: program.command, ports }],
    },
  }
}

/** Health probes of a workload as drivers see them. Commands are run beside the workload and don't concern a sidecar. */
function originalProbes({ metadata, spec }: KindMap['Workload']): readonly OriginalHealthProbe[] {
  return KINDS.flatMap((kind) => {
    const probe = spec.probes?.[kind]
    const question = probe && probeQuestion(probe, spec.ports)
    if (question === undefined) return []
    return [
      { container: metadata.name, kind, ...question, timeoutMs: (probe?.timeoutSeconds ?? DEFAULT_TIMEOUT_S) * 1000 },
    ]
  })
}

function probeQuestion({ httpGet, tcpSocket, grpc }: Probe, ports: readonly WorkloadPort[]): Question | undefined {
  if (httpGet !== undefined) {
    const port = portNumber(httpGet.port, ports)
    if (port === undefined) return undefined
    const headers = httpGet.httpHeaders ?? []
    return { type: httpGet.scheme === 'HTTPS' ? 'https' : 'http', port, path: httpGet.path ?? '/', headers }
  }
  if (grpc !== undefined)
    return { type: 'grpc', port: grpc.port, ...(grpc.service !== undefined && { service: grpc.service }) }
  const port = tcpSocket && portNumber(tcpSocket.port, ports)
  return port === undefined ? undefined : { type: 'tcp', port }
}

function portNumber(port: number | string, ports: readonly WorkloadPort[]): number | undefined {
  return typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.port
}
