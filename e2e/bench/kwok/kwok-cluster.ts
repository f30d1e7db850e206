import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  listAll,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { ChildProgram, type OwnApiServer, programsFrom, startApiServer } from '../../api/harness/index.js'
import { defineKinds } from '../../api/support/definitions.js'
import { each } from '../each.js'
import { OSM_NAMESPACE, type MeshObject, podObject, type ScalePod, scaleMesh, type ScaleSize } from '../scale/mesh.js'

/** Programs that a cluster of kwok consists of, besides the API server and its etcd. */
export interface KwokPrograms {
  readonly kwok: string
  /** YAML files that tell kwok what becomes of nodes and pods. */
  readonly stages: readonly string[]
  readonly controllerManager: string
}

/** Requests under way at a time. */
const WRITERS = 24
const PODS_PER_NODE = 50
const FIRST_NODE_BLOCK = 64 << 8
const POLL_MS = 500
const TIMEOUT_MS = 300_000
/** Kinds that other programs write in a cluster. */
const written: readonly MeshObject['kind'][] = ['Pod', 'EndpointSlice']

/**
 * A real API server with a real kube-controller-manager, which writes the EndpointSlices, and kwok, which gives pods their addresses and makes them ready as
 * kubelets would.
 */
export class KwokCluster {
  readonly server: OwnApiServer
  readonly #programs: readonly ChildProgram[]
  readonly #nodes: number
  readonly #signal: AbortSignal

  private constructor(server: OwnApiServer, programs: readonly ChildProgram[], nodes: number, signal: AbortSignal) {
    this.server = server
    this.#programs = programs
    this.#nodes = nodes
    this.#signal = signal
  }

  /** @param pods - for how many its nodes are enough */
  static async start(programs: KwokPrograms, pods: number, signal: AbortSignal): Promise<KwokCluster> {
    const server = await startApiServer(programsFrom(process.env), signal)
    const { kubeconfigPath, folder } = server.description
    const logs = join(folder, 'logs')
    mkdirSync(logs, { recursive: true })
    const start = (name: string, file: string, args: readonly string[]): ChildProgram =>
      new ChildProgram({ name, file, args, env: { HOME: folder }, logFile: join(logs, `${name}.log`) })
    const cluster = new KwokCluster(
      server,
      [
        start('kube-controller-manager', programs.controllerManager, [
          `--kubeconfig=${kubeconfigPath}`,
          '--controllers=endpointslice-controller',
          '--kube-api-qps=400',
          '--kube-api-burst=800',
          '--leader-elect=false',
          '--secure-port=0',
        ]),
        start('kwok', programs.kwok, [
          `--kubeconfig=${kubeconfigPath}`,
          '--manage-all-nodes=true',
          '--node-lease-duration-seconds=40',
          ...programs.stages.map((stage) => `--config=${stage}`),
        ]),
      ],
      Math.ceil(pods / PODS_PER_NODE),
      signal,
    )
    try {
      await cluster.#prepare()
      return cluster
    } catch (error) {
      const words = cluster.lastWords()
      await cluster.stop()
      throw new Error(`the cluster did not start:\n${words}`, { cause: error })
    }
  }

  get api(): KubernetesApi {
    return this.server.client.api
  }

  /** Makes everything of a mesh but its pods and what follows from them. */
  async createMesh(size: ScaleSize, proxyServerPort: number): Promise<void> {
    const objects = scaleMesh(size, proxyServerPort).filter(({ kind }) => !written.includes(kind))
    const [namespaces, inside] = [
      objects.filter(({ kind }) => kind === 'Namespace'),
      objects.filter(({ kind }) => kind !== 'Namespace'),
    ]
    for (const list of [namespaces, inside]) await each(list, WRITERS, (object) => this.#create(withoutAddress(object)))
  }

  /** Makes pods and waits until they are ready, and their services have them as endpoints. */
  async createPods(pods: readonly ScalePod[]): Promise<void> {
    await each(pods, WRITERS, (pod) => this.createPod(pod))
    await this.#until(`${pods.length} pods are endpoints`, async () => (await this.#endpoints()) >= pods.length)
  }

  /** Makes a pod on the node that its number chooses. */
  async createPod(pod: ScalePod): Promise<void> {
    const { metadata, rest } = podObject(pod)
    const spec = { ...(rest?.spec as object), nodeName: `node-${pod.index % this.#nodes}` } // that of a pod
    await this.#create({ kind: 'Pod', metadata, rest: { spec } })
  }

  /** Asks for the end of a pod; kwok removes it. */
  async deletePod({ app, namespace, index }: ScalePod): Promise<void> {
    await this.api.delete(resourceTypes.Pod, { namespace, name: `${app}-${index}` }, { signal: this.#signal })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()))
    await this.server.stop()
  }

  /** What its programs printed last. */
  lastWords(): string {
    return this.#programs.map((program) => `${program.name}:\n${program.lastWords()}`).join('\n')
  }

  async #prepare(): Promise<void> {
    await defineKinds(this.api, this.#signal)
    await this.#create({ kind: 'Namespace', metadata: { name: OSM_NAMESPACE } })
    const nodes = Array.from({ length: this.#nodes }, (_, index) => index)
    await each(nodes, WRITERS, async (index) => {
      const block = FIRST_NODE_BLOCK + index
      const podCIDR = `10.${block >> 8}.${block & 255}.0/24`
      const rest = { spec: { podCIDR, podCIDRs: [podCIDR] } }
      const labels = { 'topology.kubernetes.io/zone': `zone-${index % 3}` }
      await this.#create({ kind: 'Node', metadata: { name: `node-${index}`, labels }, rest })
    })
  }

  async #create({ kind, metadata, rest }: MeshObject): Promise<void> {
    const type: ResourceType = resourceTypes[kind]
    const manifest: KubernetesManifest = { apiVersion: apiVersionOf(type), kind, metadata, ...rest }
    await this.api.create(type, manifest, { signal: this.#signal, answer: 'metadata' })
  }

  /** Ready endpoints of all services of the mesh. */
  async #endpoints(): Promise<number> {
    const slices = await listAll(this.api, resourceTypes.EndpointSlice, { limit: 500 }, this.#signal)
    return (slices as readonly { readonly endpoints?: readonly Endpoint[] | null }[])
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready === true).length
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS
    while (!(await isSo())) {
      this.#signal.throwIfAborted()
      const ended = this.#programs.find(({ isRunning }) => !isRunning)
      if (ended !== undefined) throw new Error(`${ended.name} has ended:\n${ended.lastWords()}`)
      if (performance.now() > deadline) throw new Error(`not so after ${TIMEOUT_MS} ms: ${what}\n${this.lastWords()}`)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}

/** Of an EndpointSlice, as far as it is read here. */
interface Endpoint {
  readonly conditions?: { readonly ready?: boolean }
}

/** The API server chooses addresses of Services out of its own range. */
function withoutAddress(object: MeshObject): MeshObject {
  if (object.kind !== 'Service') return object
  const { clusterIP, ...spec } = object.rest?.spec as { readonly clusterIP?: string } // that of a service
  void clusterIP
  return { ...object, rest: { spec } }
}
