import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { podManifest, runningStatus, sliceManifest } from './mesh-objects.js'

type Fields = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** Makes and changes the objects of a cluster in few words. */
export class ClusterObjects {
  readonly #api: KubernetesApi
  readonly #signal: AbortSignal

  constructor(api: KubernetesApi, signal: AbortSignal) {
    this.#api = api
    this.#signal = signal
  }

  /** Makes an object, or brings it into this form. */
  async put(
    type: ResourceType,
    metadata: {
      readonly name: string
      readonly namespace?: string
      readonly labels?: Texts
      readonly annotations?: Texts
    },
    rest: Fields = {},
  ): Promise<KubernetesObject> {
    return this.#apply(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest })
  }

  async remove(type: ResourceType, namespace: string, name: string): Promise<void> {
    await this.#api.delete(type, { namespace, name }, { signal: this.#signal })
  }

  async setStatus(type: ResourceType, namespace: string, name: string, status: object): Promise<void> {
    await this.#api.mergePatch(type, { namespace, name }, { status }, { subresource: 'status', signal: this.#signal })
  }

  /** A namespace; without a mesh it is of none. */
  async namespace(name: string, mesh: string | undefined, labels: Texts = {}): Promise<void> {
    const monitored = mesh === undefined ? {} : { 'openservicemesh.io/monitored-by': mesh }
    await this.put(resourceTypes.Namespace, { name, labels: { ...monitored, ...labels } })
  }

  async service(namespace: string, name: string): Promise<void> {
    const ports = [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }]
    await this.put(resourceTypes.Service, { name, namespace }, { spec: { selector: { app: name }, ports } })
  }

  /** A pod that runs with a sidecar, its account, and the slice that makes it an endpoint of the service of its name. */
  async workload(namespace: string, name: string, ip: string, uuid: string): Promise<void> {
    await this.put(resourceTypes.ServiceAccount, { name, namespace })
    await this.#apply(resourceTypes.Pod, podManifest({ namespace, name, account: name, uuid, sidecarClass: 'envoy' }))
    await this.setStatus(resourceTypes.Pod, namespace, name, runningStatus(ip))
    await this.#apply(resourceTypes.EndpointSlice, sliceManifest(namespace, name, [{ name, address: ip }]))
  }

  #apply(type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> {
    return this.#api.apply(type, manifest, { fieldManager: 'test', force: true, signal: this.#signal })
  }
}
