import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { type KubernetesApi, type KubernetesManifest, listAll, resourceTypes } from '@osm-ts/kubernetes'

import { ChildProgram, type OwnApiServer, programsFrom, startApiServer } from '../../api/harness/index.js'
import { defineKinds } from '../../api/support/definitions.js'
import { each } from '../each.js'
import { createObjects, meshedPod, type NumberedPod, WRITERS } from '../kubernetes-cluster.js'
import { OSM_NAMESPACE, scaleMesh, type ScaleSize } from '../scale/mesh.js'

/** Programs that a cluster of kwok consists of, besides the API server and its etcd. */
export interface KwokPrograms {
  readonly kwok: string
  /** YAML files that tell kwok what becomes of nodes and pods. */
  readonly stages: readonly string[]
  readonly controllerManager: string
}

const PODS_PER_NODE = 50
const FIRST_NODE_BLOCK = 64 << 8
const POLL_MS = 500
const TIMEOUT_MS = 300_000
/** Kinds that other programs write in a cluster. */
const written: readonly string[] = ['Pod', 'EndpointSlice']

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
    await createObjects(this.api, objects.map(withoutAddress), this.#signal)
  }

  /** Makes pods and waits until they are ready, and their services have them as endpoints. */
  async createPods(pods: readonly NumberedPod[]): Promise<void> {
    await each(pods, WRITERS, (pod) => this.createPod(pod))
    await this.#until(`${pods.length} pods are endpoints`, async () => (await this.#endpoints()) >= pods.length)
  }

  /** Makes a pod on the node that its number chooses. */
  async createPod(pod: NumberedPod): Promise<void> {
    const { status: _status, ...object } = meshedPod(pod)
    const spec = { ...object.spec, nodeName: `node-${pod.index % this.#nodes}` }
    await createObjects(this.api, [{ ...object, spec }], this.#signal)
  }

  /** Asks for the end of a pod; kwok removes it. */
  async deletePod({ name, namespace, index }: NumberedPod): Promise<void> {
    await this.api.delete(resourceTypes.Pod, { namespace, name: `${name}-${index}` }, { signal: this.#signal })
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
    const nodes = Array.from({ length: this.#nodes }, (_, index) => {
      const block = FIRST_NODE_BLOCK + index
      const podCIDR = `10.${block >> 8}.${block & 255}.0/24`
      const labels = { 'topology.kubernetes.io/zone': `zone-${index % 3}` }
      const metadata = { name: `node-${index}`, labels }
      return { apiVersion: 'v1', kind: 'Node', metadata, spec: { podCIDR, podCIDRs: [podCIDR] } }
    })
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OSM_NAMESPACE } }
    await createObjects(this.api, [namespace, ...nodes], this.#signal)
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
function withoutAddress(object: KubernetesManifest): KubernetesManifest {
  if (object.kind !== 'Service') return object
  const { clusterIP: _address, ...spec } = object.spec as { readonly clusterIP?: string } // that of a service
  return { ...object, spec }
}
