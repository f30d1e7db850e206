import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { create, toBinary } from '@bufbuild/protobuf'
import { type ControllerOptions, startController } from '@osm-ts/controller'
import {
  createLogger,
  FolderSecrets,
  type MeshConfigSpec,
  Metrics,
  SnapshotEndpointsProvider,
  standalonePreset,
  YamlFolderSource,
} from '@osm-ts/core'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import {
  DeltaDiscoveryResponseSchema,
  ResourceSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { ENDPOINTS } from './references.js'
import { Clients } from './clients.js'
import { FloorServer } from './floor-server.js'
import { startIssuer } from './issuer.js'
import { freePort } from './local-api.js'
import { generateMesh } from './mesh.js'
import { type Summary, round, summarize } from './statistics.js'

/** From the change of a file to the last acknowledgement. */
export interface Convergence {
  readonly clients: number
  readonly services: number
  /** Milliseconds; holds the debounce of 100 ms. */
  readonly change: Summary
  /** Milliseconds; a bare gRPC server writes the same bytes to the same clients, without any file, policy or debounce. */
  readonly floor: Summary
  /** Of the medians. */
  readonly ratio: number
  /** Bytes of resources that one client acknowledged while it started. */
  readonly octetsPerClient: number
  /** From the first connection to the last acknowledgement of a client that starts. */
  readonly connectMs: number
}

/** What is measured. */
export interface ConvergenceOptions {
  readonly clients: number
  readonly services: number
  readonly rounds: number
  readonly warmUp: number
  /** Bundle of clients-main.ts. */
  readonly clientsProgram: string
  /** Drivers that the controller is to load and start beside Envoy's, with what MeshConfig says of them. */
  readonly others?: {
    readonly drivers: NonNullable<ControllerOptions['otherDrivers']>
    readonly sidecarDrivers: NonNullable<NonNullable<MeshConfigSpec['sidecar']>['sidecarDrivers']>
  }
}

const SERVER_NAME = 'ads.cluster.local'
const HUB = 'hub/hub|8080'
const TIMEOUT_MS = 60_000

/** Measures {@link Convergence}: the product and the floor in one run, in turns. */
export async function measureConvergence(options: ConvergenceOptions): Promise<Convergence> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-bench-'))
  const instances = `${folder}-instances`
  const abort = new AbortController()
  const product = new Clients(options.clientsProgram)
  const floorClients = new Clients(options.clientsProgram)
  try {
    const mesh = generateMesh({
      services: options.services,
      proxies: options.clients,
      calls: 5,
      everyoneCallsHub: true,
    })
    await writeFile(join(folder, 'policy.yaml'), mesh.policy)
    await writeFile(join(folder, 'hub.yaml'), mesh.movable(0))
    await mkdir(instances)
    await writeFile(join(instances, 'instances.yaml'), mesh.instances)

    const { provider, issuer, domains, roots } = await startIssuer(abort.signal)
    const port = await freePort()
    const source = new YamlFolderSource({ name: 'folder', folder })
    const controller = await startController({
      meshName: 'bench',
      osmNamespace: 'osm-system',
      domains,
      sources: [source, new YamlFolderSource({ name: 'instances', folder: instances, writtenBy: 'runtime' })],
      secrets: new FolderSecrets(source, () => undefined),
      certificateProvider: provider,
      drivers: [createEnvoyDriver()],
      environment: { OSM_DEFAULT_SIDECAR_CLASS: 'envoy' },
      endpointsProviders: (feed) => [new SnapshotEndpointsProvider({ id: 'folder', ...feed.reader() })],
      enrolment: { mode: 'all' },
      ...(options.others !== undefined && { otherDrivers: options.others.drivers }),
      meshConfig: { preset: presetWith(options.others?.sidecarDrivers ?? []), anyNamespace: true, required: false },
      proxyServer: { address: '127.0.0.1', port: (sidecarClass) => (sidecarClass === 'envoy' ? port : 0) },
      bindAddress: '127.0.0.1',
      debugServer: 'always',
      metrics: new Metrics(),
      serverNames: { dnsNames: [], ipAddresses: ['127.0.0.1'] },
      ports: { debug: 0, health: 0 },
      version: { version: 'bench', git_commit: '', build_date: '' },
      logger: createLogger('bench', 'error'),
      signal: abort.signal,
    })
    const proxies = await Promise.all(
      mesh.proxies.map(async ({ uuid, account }) => {
        const certificate = await issuer.issueCertificate(
          { kind: 'proxy', uuid, serviceAccount: account },
          { keep: false },
        )
        return { nodeId: certificate.commonName, chain: certificate.chain, privateKey: certificate.privateKey() }
      }),
    )

    const octets = product.countOctets()
    const connectStart = process.hrtime.bigint()
    const started = product.lastOf(
      proxies.length,
      connectStart,
      ({ of, names }) => of === ENDPOINTS && names.includes(HUB),
      TIMEOUT_MS,
    )
    product.connect({ server: { target: `127.0.0.1:${port}`, serverName: SERVER_NAME, roots }, proxies })
    const connectMs = await started
    await product.quiet(1000)
    const octetsPerClient = octets() / proxies.length

    const server = await issuer.issueCertificate({
      kind: 'control-plane',
      name: 'ads',
      dnsNames: [],
      ipAddresses: ['127.0.0.1'],
    })
    const floor = await FloorServer.start({ chain: server.chain, privateKey: server.privateKey(), clientRoots: roots })
    floorClients.connect({ server: { target: `127.0.0.1:${floor.port}`, serverName: SERVER_NAME, roots }, proxies })
    while (floor.server.streams < proxies.length) await new Promise((resolve) => setTimeout(resolve, 20))

    const changes: number[] = []
    const floors: number[] = []
    for (let n = 1; n <= options.warmUp + options.rounds; n += 1) {
      const changed = await change(product, folder, mesh.movable(n), proxies.length)
      await product.quiet(30)
      const pushed = await push(floorClients, floor.server, n, proxies.length)
      if (n <= options.warmUp) continue
      changes.push(changed)
      floors.push(pushed)
    }
    floor.server.close()
    abort.abort()
    await controller.stopped
    provider.close()
    const [changed, bare] = [summarize(changes), summarize(floors)]
    return {
      clients: options.clients,
      services: options.services,
      change: changed,
      floor: bare,
      ratio: round(changed.p50 / bare.p50),
      octetsPerClient: Math.round(octetsPerClient),
      connectMs: round(connectMs),
    }
  } finally {
    abort.abort()
    await Promise.all([product.close(), floorClients.close()])
    for (const each of [folder, instances]) await rm(each, { recursive: true, force: true })
  }
}

function presetWith(sidecarDrivers: NonNullable<ConvergenceOptions['others']>['sidecarDrivers']): MeshConfigSpec {
  if (sidecarDrivers.length === 0) return standalonePreset
  return { ...standalonePreset, sidecar: { ...standalonePreset.sidecar, sidecarDrivers } }
}

/** Moves the endpoint and waits for the last proxy. Renamed into place: editors do so, and no half of it can be read. */
async function change(clients: Clients, folder: string, text: string, count: number): Promise<number> {
  const aside = join(tmpdir(), `osm-bench-hub-${process.pid}.yaml`)
  await writeFile(aside, text)
  const start = process.hrtime.bigint()
  const last = clients.lastOf(count, start, ({ of, names }) => of === ENDPOINTS && names.includes(HUB), TIMEOUT_MS)
  await rename(aside, join(folder, 'hub.yaml'))
  return last
}

/** Lets the bare server write an assignment of the same form to all clients. */
async function push(clients: Clients, server: FloorServer, n: number, count: number): Promise<number> {
  const value = toBinary(ClusterLoadAssignmentSchema, assignment(n))
  const response = create(DeltaDiscoveryResponseSchema, {
    typeUrl: ENDPOINTS,
    nonce: String(n),
    resources: [create(ResourceSchema, { name: HUB, version: String(n), resource: { typeUrl: ENDPOINTS, value } })],
  })
  const start = process.hrtime.bigint()
  const last = clients.lastOf(count, start, ({ of }) => of === ENDPOINTS, TIMEOUT_MS)
  server.push(Buffer.from(toBinary(DeltaDiscoveryResponseSchema, response)))
  return last
}

function assignment(n: number) {
  const address = `10.200.${(n >> 8) & 255}.${n & 255}`
  return create(ClusterLoadAssignmentSchema, {
    clusterName: HUB,
    endpoints: [
      {
        lbEndpoints: [
          {
            hostIdentifier: {
              case: 'endpoint',
              value: {
                address: {
                  address: {
                    case: 'socketAddress',
                    value: { address, portSpecifier: { case: 'portValue', value: 8080 } },
                  },
                },
              },
            },
            loadBalancingWeight: 1,
          },
        ],
      },
    ],
  })
}
