import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { fromBinary } from '@bufbuild/protobuf'
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
import { DeltaDiscoveryResponseSchema } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'
import { stringify } from 'yaml'

import { BaselineServer } from './baseline-server.js'
import { startIssuer } from './issuer.js'
import { freePort } from '../api/support/controller-process.js'
import { generateHubMesh } from './mesh.js'
import { ENDPOINTS, SECRET } from './references.js'
import { Proxies, type Reached, type RecordedAnswers } from './scale/proxies.js'
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
  /** Bytes of resources that one client acknowledged while it started, certificates aside. */
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
  /** Bundles of simulated proxies and of the floor. */
  readonly programs: { readonly proxies: string; readonly floor: string }
  /** Drivers that the controller is to load and start beside Envoy's, with what MeshConfig says of them. */
  readonly others?: {
    readonly drivers: NonNullable<ControllerOptions['otherDrivers']>
    readonly sidecarDrivers: NonNullable<NonNullable<MeshConfigSpec['sidecar']>['sidecarDrivers']>
  }
}

const SERVER_NAME = 'ads.cluster.local'
const TIMEOUT_MS = 60_000

/** Measures {@link Convergence}: the product and the floor in one run, in turns. */
export async function measureConvergence(options: ConvergenceOptions): Promise<Convergence> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-bench-'))
  const instances = `${folder}-instances`
  const abort = new AbortController()
  const { programs, clients } = options
  const product = await Proxies.start(programs.proxies)
  const floorProxies = await Proxies.start(programs.proxies)
  const floor = await BaselineServer.start(programs.floor)
  try {
    const mesh = generateHubMesh({ services: options.services, proxies: clients, everyoneCallsHub: true })
    await writeFile(join(folder, 'policy.yaml'), textOf(mesh.policy))
    await writeFile(join(folder, 'hub.yaml'), textOf([mesh.movable(0)]))
    await mkdir(instances)
    await writeFile(join(instances, 'instances.yaml'), textOf(mesh.instances))

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
      mesh.proxies.map(async ({ uuid, account }, index) => {
        const certificate = await issuer.issueCertificate(
          { kind: 'proxy', uuid, serviceAccount: account },
          { keep: false },
        )
        return { index, nodeId: certificate.commonName, chain: certificate.chain, privateKey: certificate.privateKey() }
      }),
    )

    const nodeIds = proxies.map(({ nodeId }) => nodeId)
    const connect = { serverName: SERVER_NAME, roots }
    const connected = await product.connect({ ...connect, port }, proxies, TIMEOUT_MS, {
      record: proxies.map(({ index }) => index),
    })
    await product.quiet(1000)
    const answers = await product.recorded()

    const server = await issuer.issueCertificate({
      kind: 'control-plane',
      name: 'ads',
      dnsNames: [],
      ipAddresses: ['127.0.0.1'],
    })
    for (const [index, types] of answers) await floor.answer(nodeIds.slice(index, index + 1), types)
    const key = { chain: server.chain, privateKey: server.privateKey(), clientRoots: roots }
    await floorProxies.connect({ ...connect, port: await floor.listen(key) }, proxies, TIMEOUT_MS)

    const changes: number[] = []
    const floors: number[] = []
    for (let n = 1; n <= options.warmUp + options.rounds; n += 1) {
      const hub = { typeUrl: ENDPOINTS, name: 'hub/hub|8080', count: clients }
      const changed = await product.reached(hub, await moveOf(folder, textOf([mesh.movable(n)])), TIMEOUT_MS)
      await product.quiet(30)
      const pushed = await floorProxies.reached(hub, () => floor.push(nodeIds, changed.message), TIMEOUT_MS)
      if (n <= options.warmUp) continue
      changes.push(lastOf(changed))
      floors.push(lastOf(pushed))
    }
    abort.abort()
    await controller.stopped
    provider.close()
    const [changed, bare] = [summarize(changes), summarize(floors)]
    return {
      clients,
      services: options.services,
      change: changed,
      floor: bare,
      ratio: round(changed.p50 / bare.p50),
      octetsPerClient: Math.round(resourceOctetsOf(answers) / clients),
      connectMs: round(Math.max(...connected)),
    }
  } finally {
    abort.abort()
    await Promise.all([product.close(), floorProxies.close(), floor.close()])
    for (const each of [folder, instances]) await rm(each, { recursive: true, force: true })
  }
}

function presetWith(sidecarDrivers: NonNullable<ConvergenceOptions['others']>['sidecarDrivers']): MeshConfigSpec {
  if (sidecarDrivers.length === 0) return standalonePreset
  return { ...standalonePreset, sidecar: { ...standalonePreset.sidecar, sidecarDrivers } }
}

/** Prepares a move of the endpoint, and gives what does it. Renamed into place: editors do so, and no half of it can be read. */
async function moveOf(folder: string, text: string): Promise<() => Promise<bigint>> {
  const aside = join(tmpdir(), `osm-bench-hub-${process.pid}.yaml`)
  await writeFile(aside, text)
  return async () => {
    const at = process.hrtime.bigint()
    await rename(aside, join(folder, 'hub.yaml'))
    return at
  }
}

function lastOf({ times }: Reached): number {
  return Math.max(...times)
}

function textOf(manifests: readonly object[]): string {
  return manifests.map((each) => stringify(each)).join('---\n')
}

function resourceOctetsOf(answers: RecordedAnswers): number {
  const messages = answers.flatMap(([, types]) => types.flatMap(([type, each]) => (type === SECRET ? [] : each)))
  const resources = messages.flatMap((message) => fromBinary(DeltaDiscoveryResponseSchema, message).resources)
  return resources.reduce((sum, { resource }) => sum + (resource?.value.length ?? 0), 0)
}
