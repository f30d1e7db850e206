import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import type { ApiServer } from '../harness/index.js'
import type { ClusterStandIn } from './cluster-stand-in.js'
import { chart, helm } from './helm.js'
import type { Deployment } from './objects.js'

/** What to install. */
export interface MeshOptions {
  readonly server: ApiServer
  readonly cluster: ClusterStandIn
  /** Of the mesh and of the release; the namespace of its control plane is `<name>-system`. */
  readonly name: string
  /** Values below `osm`, on top of those that tests have in common. */
  readonly values?: Readonly<Record<string, unknown>>
  /** Another chart than that of this repository. */
  readonly chartPath?: string
}

/** Several meshes share the API server of the tests, and policy is what they are about. */
const commonValues = {
  sidecarClass: 'envoy',
  enforceSingleMesh: false,
  enablePermissiveTrafficPolicy: false,
  enableEgress: false,
}
interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions: { readonly ready: boolean }
}

const bindingTimeoutMs = 60_000

/** A control plane that the real helm has installed from the chart of this repository. */
export class InstalledMesh {
  readonly name: string
  readonly namespace: string
  readonly #options: MeshOptions

  private constructor(options: MeshOptions) {
    this.#options = options
    this.name = options.name
    this.namespace = `${options.name}-system`
  }

  /** Makes the namespace and installs; returns when helm says that everything is ready. */
  static async install(options: MeshOptions): Promise<InstalledMesh> {
    const mesh = new InstalledMesh(options)
    await options.cluster.createNamespace(mesh.namespace, { controlPlane: true })
    const { values = {}, chartPath = chart } = options
    await mesh.helm('install', { values, chartPath })
    return mesh
  }

  /** Installs again what was uninstalled, or changes what is installed. */
  async helm(
    verb: 'install' | 'upgrade',
    { values, chartPath = chart }: { readonly values: Readonly<Record<string, unknown>>; readonly chartPath?: string },
  ): Promise<void> {
    const { server, cluster } = this.#options
    const file = join(server.folder, `${this.name}.values.json`)
    writeFileSync(file, JSON.stringify({ osm: { ...commonValues, meshName: this.name, ...values } }))
    const wait = ['--wait', '--timeout', '90s']
    try {
      await helm(server, [verb, this.name, chartPath, '--namespace', this.namespace, '--values', file, ...wait])
    } catch (error) {
      throw new Error(cluster.report(), { cause: error })
    }
  }

  async uninstall(): Promise<void> {
    const { server, cluster } = this.#options
    try {
      await helm(server, ['uninstall', this.name, '--namespace', this.namespace, '--wait', '--timeout', '60s'])
    } catch (error) {
      throw new Error(cluster.report(), { cause: error })
    }
  }

  /** Has a Deployment of the control plane run this many pods, and waits until it does. */
  async scale(deployment: 'osm-controller' | 'osm-injector' | 'osm-bootstrap', replicas: number): Promise<void> {
    const { api } = this.#options.cluster
    const name = { namespace: this.namespace, name: deployment }
    await api.mergePatch(
      resourceTypes.Deployment,
      name,
      { spec: { replicas } },
      { signal: AbortSignal.timeout(10_000) },
    )
    await eventually(
      async () => {
        const found = await api.get(resourceTypes.Deployment, name, AbortSignal.timeout(10_000))
        const { metadata, status = {} } = found as unknown as Deployment
        // The API server leaves out what is zero.
        const { observedGeneration, replicas: all = 0, readyReplicas: ready = 0 } = status
        return { isObserved: observedGeneration === metadata.generation, all, ready }
      },
      ({ isObserved, all, ready }) => isObserved && all === replicas && ready === replicas,
      { what: `${deployment} with ${replicas} pods` },
    )
    // Endpoints follow pods.
    await eventually(
      async () => (await this.endpoints(deployment)).length,
      (count) => count === replicas,
    )
  }

  /** Addresses at which the Service of that name is served. */
  async endpoints(service: string): Promise<readonly string[]> {
    const { api } = this.#options.cluster
    const labelSelector = `kubernetes.io/service-name=${service}`
    const query = { namespace: this.namespace, labelSelector }
    const { items } = await api.list(resourceTypes.EndpointSlice, query, AbortSignal.timeout(10_000))
    const slices = items as unknown as readonly { readonly endpoints?: readonly Endpoint[] | null }[]
    return slices
      .flatMap(({ endpoints }) => endpoints ?? [])
      .flatMap(({ addresses, conditions }) => (conditions.ready ? addresses : []))
  }

  /** Makes a namespace whose pods get sidecars, with service accounts of these names; returns when injection may begin. */
  async createMonitoredNamespace(
    name: string,
    accounts: readonly string[] = [],
    { runsPods = true, isScraped = false }: { readonly runsPods?: boolean; readonly isScraped?: boolean } = {},
  ): Promise<void> {
    const { cluster } = this.#options
    const labels = { 'openservicemesh.io/monitored-by': this.name }
    const annotations = {
      'openservicemesh.io/sidecar-injection': 'enabled',
      ...(isScraped && { 'openservicemesh.io/metrics': 'enabled' }),
    }
    await cluster.createNamespace(name, { labels, annotations, runsPods })
    for (const account of accounts) await cluster.createServiceAccount(name, account)
    await this.bound(name)
  }

  /**
   * Comes back when the injector may write into a monitored namespace. That takes a leader: if the one before could not give up its lease,
   * because an uninstallation took away its rights first, the next waits until the lease is over.
   */
  async bound(namespace: string): Promise<void> {
    await eventually(
      () => this.bootstrapSecretsBinding(namespace),
      (binding) => binding !== undefined,
      { timeoutMs: bindingTimeoutMs, what: `the RoleBinding by which the injector may write into ${namespace}` },
    )
  }

  /** The RoleBinding in a monitored namespace that lets the programs write bootstrap secrets there. */
  bootstrapSecretsBinding(namespace: string) {
    const name = { namespace, name: `osm-${this.name}-bootstrap-secrets` }
    return this.#options.cluster.api.get(resourceTypes.RoleBinding, name, AbortSignal.timeout(10_000))
  }
}
