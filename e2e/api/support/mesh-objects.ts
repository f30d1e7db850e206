import { newProxyUUID } from '@osm-ts/core'
import {
  apiVersionOf,
  bootstrapSecretName,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { parseAllDocuments } from 'yaml'

import { untilNoConflict } from './until-no-conflict.js'

const CREATED = '2026-01-01T00:00:00Z'

/** Writes objects of a mesh as users do. */
export class MeshObjects {
  readonly #api: KubernetesApi
  readonly #signal: AbortSignal

  constructor(api: KubernetesApi, signal: AbortSignal) {
    this.#api = api
    this.#signal = signal
  }

  /** Applies all objects of a YAML text. */
  async apply(yaml: string): Promise<readonly KubernetesObject[]> {
    const written: KubernetesObject[] = []
    const options = { fieldManager: 'test', force: true, signal: this.#signal }
    for (const document of parseAllDocuments(yaml)) {
      const manifest = document.toJSON() as KubernetesManifest
      written.push(await this.#api.apply(typeOf(manifest), manifest, options))
    }
    return written
  }

  /** Has the API server and its webhooks look at an object without storing it. */
  async check(yaml: string): Promise<void> {
    const [document] = parseAllDocuments(yaml)
    const manifest = document?.toJSON() as KubernetesManifest
    const type = typeOf(manifest)
    const options = { dryRun: true, signal: this.#signal }
    const { namespace = '', name } = manifest.metadata
    await untilNoConflict(async () => {
      const present = await this.#api.get(type, { namespace, name }, this.#signal)
      if (present === undefined) return this.#api.create(type, manifest, options)
      const resourceVersion = present.metadata.resourceVersion ?? ''
      return this.#api.replace(type, { ...manifest, metadata: { ...manifest.metadata, resourceVersion } }, options)
    })
  }

  async remove(kind: keyof typeof resourceTypes, namespace: string, name: string): Promise<void> {
    await this.#api.delete(resourceTypes[kind], { namespace, name }, { signal: this.#signal })
  }

  /** The account of a controller, with all rights. */
  async controllerAccount(namespace: string): Promise<void> {
    const account = { kind: 'ServiceAccount', name: 'osm-controller', namespace }
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
    const { name } = account
    const binding = { kind: 'ClusterRoleBinding', metadata: { name }, roleRef: role, subjects: [account] }
    await this.apply(JSON.stringify({ apiVersion: 'v1', kind: account.kind, metadata: { name, namespace } }))
    await this.apply(JSON.stringify({ apiVersion: `${role.apiGroup}/v1`, ...binding }))
  }

  async namespace(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }))
  }

  /** A pod as injector, scheduler and kubelet leave it, with the Secret of its sidecar. */
  async pod(options: {
    readonly namespace: string
    readonly name: string
    readonly account: string
    readonly address: string
    readonly meshName: string
    /** Name of the container of its sidecar, where something looks at it. */
    readonly sidecar?: string
    /** Node that it is on. */
    readonly node?: string
    readonly sidecarClass?: string
  }): Promise<{ readonly uuid: ReturnType<typeof newProxyUUID>; readonly uid: string }> {
    const { namespace, name, account, address, meshName, sidecar, node, sidecarClass = 'envoy' } = options
    const uuid = newProxyUUID()
    await this.secret(namespace, uuid, meshName)
    const account_ = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } }
    await this.apply(JSON.stringify(account_))
    const manifest = podManifest({ namespace, name, account, uuid, sidecarClass, sidecar, node })
    const [pod] = await this.apply(JSON.stringify(manifest))
    await this.runs(namespace, name, address)
    return { uuid, uid: pod?.metadata.uid ?? '' }
  }

  /** Says of a pod what a kubelet says of one that runs and is ready. */
  async runs(namespace: string, name: string, address: string): Promise<void> {
    const options = { signal: this.#signal, subresource: 'status' } as const
    await this.#api.mergePatch(resourceTypes.Pod, { namespace, name }, { status: runningStatus(address) }, options)
  }

  /** The Secret of a sidecar, as the injector writes it. */
  async secret(namespace: string, uuid: string, meshName: string): Promise<void> {
    const labels = {
      'app.kubernetes.io/name': 'openservicemesh.io',
      'app.kubernetes.io/instance': meshName,
      'osm-proxy-uuid': uuid,
    }
    const metadata = { namespace, name: bootstrapSecretName(uuid), labels }
    await this.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data: {} }))
  }

  /** A Service and the endpoints that the cluster would make of it. */
  async service(namespace: string, name: string, pods: readonly { readonly name: string; readonly address: string }[]) {
    await this.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace, name },
        spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      }),
    )
    await this.apply(JSON.stringify(sliceManifest(namespace, name, pods)))
  }
}

/** A pod with a sidecar, as injector and scheduler leave it. */
export function podManifest(pod: {
  readonly namespace: string
  readonly name: string
  readonly account: string
  readonly uuid: string
  readonly sidecarClass: string
  readonly sidecar?: string | undefined
  readonly node?: string | undefined
}): KubernetesManifest {
  const { namespace, name, account, uuid, sidecarClass, sidecar, node } = pod
  const volumeMounts = [{ name: 'bootstrap', mountPath: '/etc/envoy' }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { app: account, 'osm-proxy-uuid': uuid },
      annotations: { 'openservicemesh.io/sidecar-class': sidecarClass },
    },
    spec: {
      serviceAccountName: account,
      automountServiceAccountToken: false,
      containers: [
        { name: 'app', image: 'none', ports: [{ name: 'http', containerPort: 8080 }] },
        ...(sidecar === undefined ? [] : [{ name: sidecar, image: 'none', volumeMounts }]),
      ],
      volumes: [{ name: 'bootstrap', secret: { secretName: bootstrapSecretName(uuid) } }],
      ...(node !== undefined && { nodeName: node }),
    },
  }
}

/** What a kubelet says of a pod that runs and is ready. */
export function runningStatus(address: string): object {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: CREATED }]
  return { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions }
}

/** The endpoints that the cluster would make of a Service. */
export function sliceManifest(
  namespace: string,
  service: string,
  pods: readonly { readonly name: string; readonly address: string }[],
): KubernetesManifest {
  return {
    apiVersion: apiVersionOf(resourceTypes.EndpointSlice),
    kind: 'EndpointSlice',
    metadata: { namespace, name: `${service}-1`, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: pods.map(({ name, address }) => ({
      addresses: [address],
      conditions: { ready: true },
      targetRef: { kind: 'Pod', namespace, name },
    })),
  }
}

/** The Deployment by which a control plane is found. Nothing runs it here. */
export function controllerDeployment(namespace: string, meshName: string): KubernetesManifest {
  const labels = { app: 'osm-controller' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'osm-controller', namespace, labels: { ...labels, meshName } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'osm-controller', image: 'none' }] } },
    },
  }
}

/** The type of an object, in the version that it is written in. */
function typeOf({ apiVersion, kind }: KubernetesManifest): ResourceType {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return { ...resourceTypes[kind as keyof typeof resourceTypes], group, version }
}
