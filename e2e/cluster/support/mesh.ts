import { join } from 'node:path'
import { root } from '../../../tools/lib/paths.mjs'
import { osmProgram, type OsmProgram } from '../../api/support/osm-program.js'
import { waitUntil } from '../wait-until.js'
import { appPod } from './app-pod.js'
import type { Release } from './cluster-locks.js'
import { reportOnFailure } from './report-on-failure.js'
import type { SharedCluster } from './shared-cluster.js'
import { TestNamespace } from './test-namespace.js'

const chart = join(root, 'charts/osm')
const helmTimeout = '240s'
const helmTimeoutMs = 260_000
const webhookTimeoutMs = 120_000

/** What a dry run says while its pod has not been reviewed yet: kube-proxy learns of a ready webhook later than helm, and a new namespace gets its account late. */
const notReviewed = /failed calling webhook|error looking up service account/

/** Meshes share the cluster, and those of OSM's suite start with nothing allowed. */
const commonValues = {
  enforceSingleMesh: false,
  enablePermissiveTrafficPolicy: false,
  enableEgress: false,
}

/** What to install. */
export interface MeshOptions {
  /** Of the mesh and of the release; its control plane is in `<name>-system`. */
  readonly name: string
  /** Values below `osm`, on top of those that tests have in common. */
  readonly values?: Readonly<Record<string, unknown>>
  /** Another chart than that of this repository. */
  readonly chartPath?: string
  /** Of its pods; `envoy` when left out. */
  readonly sidecarClass?: string
}

/** A mesh that the real helm has installed. A test file has one, or some, of its own. */
export class Mesh {
  readonly name: string
  /** Of the control plane. */
  readonly namespace: string
  /** The program `osm`, for this cluster. */
  readonly osm: OsmProgram
  readonly cluster: SharedCluster
  readonly #namespaces: TestNamespace[] = []
  readonly #release: Release

  private constructor(cluster: SharedCluster, name: string, release: Release) {
    this.name = name
    this.namespace = `${name}-system`
    this.cluster = cluster
    this.osm = osmProgram({ kubeconfig: cluster.kubeconfig })
    this.#release = release
  }

  /** Installs, and returns when helm says that everything is ready. */
  static async install(cluster: SharedCluster, { name, ...options }: MeshOptions): Promise<Mesh> {
    const mesh = new Mesh(cluster, name, await cluster.locks.share('meshes'))
    try {
      await reportOnFailure(cluster, `install ${name}`, () => mesh.helm('install', options))
      return mesh
    } catch (error) {
      mesh.#release()
      throw error
    }
  }

  /** Installs what was uninstalled, or changes what is installed. */
  async helm(
    verb: 'install' | 'upgrade',
    { values = {}, chartPath = chart, sidecarClass = 'envoy' }: Omit<MeshOptions, 'name'>,
  ): Promise<void> {
    const input = JSON.stringify({ osm: { ...commonValues, meshName: this.name, ...values } })
    const where = ['--namespace', this.namespace, ...(verb === 'install' ? ['--create-namespace'] : [])]
    const args = [verb, this.name, chartPath, ...where, '--wait', '--timeout', helmTimeout]
    const settings = ['--values', '-', '--set', `osm.sidecarClass=${sidecarClass}`]
    await this.cluster.helm([...args, ...settings], { input, timeoutMs: helmTimeoutMs })
  }

  /** Makes a namespace of a test and has `osm` add it to the mesh. It goes with the mesh, if not before. */
  async createNamespace(name: string): Promise<TestNamespace> {
    const namespace = await this.createOutsideNamespace(name)
    await this.add(namespace)
    return namespace
  }

  /** Makes a namespace of a test whose Services and pods the mesh knows, and whose pods get no sidecars. It goes with the mesh. */
  async createGatewayNamespace(name: string): Promise<TestNamespace> {
    const namespace = await this.createOutsideNamespace(name)
    await this.add(namespace, ['--disable-sidecar-injection'])
    return namespace
  }

  /** Makes a namespace of a test that no mesh knows. It goes with the mesh, if not before. */
  async createOutsideNamespace(name: string): Promise<TestNamespace> {
    const namespace = await TestNamespace.create(this.cluster, name)
    this.#namespaces.push(namespace)
    return namespace
  }

  /** Enrols a namespace by `osm namespace add`, and returns when the API server reaches the webhook for its pods. */
  async add(namespace: TestNamespace, options: readonly string[] = []): Promise<void> {
    const { code, stderr } = await this.osm('namespace', 'add', namespace.name, '--mesh-name', this.name, ...options)
    if (code !== 0) throw new Error(`osm namespace add ${namespace.name} failed with ${code}: ${stderr}`)
    await this.untilPodsAreReviewed(namespace)
  }

  /** Returns when the API server reaches the webhook for pods of an enrolled namespace: a ready injector is not yet in every node's rules of Services. */
  async untilPodsAreReviewed({ name, image }: TestNamespace): Promise<void> {
    const pod = appPod({ name: 'webhook-probe', namespace: name, image })
    const input = JSON.stringify(pod)
    const review = async (): Promise<true | undefined> => {
      const { stderr: answer } = await this.cluster.kubectl.try(['create', '--dry-run=server', '-f', '-'], { input })
      return notReviewed.test(answer) ? undefined : true
    }
    const signal = AbortSignal.timeout(webhookTimeoutMs)
    await waitUntil(`a review of pods of ${name}`, review, { timeoutMs: webhookTimeoutMs, everyMs: 500, signal })
  }

  /** Merges something into the specification of the MeshConfig. */
  async patchMeshConfig(spec: Readonly<Record<string, unknown>>): Promise<void> {
    const patch = JSON.stringify({ spec })
    const args = ['patch', 'meshconfig', 'osm-mesh-config', '-n', this.namespace, '--type=merge', '-p', patch]
    await this.cluster.kubectl.run(args)
  }

  /** Uninstalls the release, and leaves what helm leaves. */
  async uninstallRelease(): Promise<void> {
    const args = ['uninstall', this.name, '--namespace', this.namespace, '--wait', '--timeout', helmTimeout]
    await this.cluster.helm(args, { timeoutMs: helmTimeoutMs })
  }

  /** Takes away the namespaces of tests, the release and its namespace; throws if anything is left that belongs to the mesh. */
  async uninstall(): Promise<void> {
    try {
      await this.#remove()
    } finally {
      this.#release()
    }
  }

  async #remove(): Promise<void> {
    await Promise.all(this.#namespaces.map((namespace) => namespace.delete({ wait: false })))
    await reportOnFailure(this.cluster, `uninstall ${this.name}`, () => this.uninstallRelease())
    const left = await this.#clusterWideObjects()
    if (left !== '') throw new Error(`uninstalling mesh ${this.name} has left:\n${left}`)
    // Anyone who runs this file again in the same cluster recreates them.
    const namespaces = [this.namespace, ...this.#namespaces.map(({ name }) => name)]
    const args = ['delete', 'namespace', ...namespaces, '--ignore-not-found']
    await this.cluster.kubectl.run(args, { timeoutMs: helmTimeoutMs })
  }

  async #clusterWideObjects(): Promise<string> {
    const kinds = 'mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings'
    const args = ['get', kinds, '-l', `app.kubernetes.io/instance=${this.name}`, '-o', 'name']
    return (await this.cluster.kubectl.run(args)).trim()
  }
}
