import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { newProxyUUID } from '@osm-ts/core'
import { listen } from '@osm-ts/driver-testkit/testing'
import { bootstrapSecretName, type KubernetesApi, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

import type { ApiServerDescription } from '../harness/api-server.js'

const classAnnotation = 'openservicemesh.io/sidecar-class'

/** What the API server asks a webhook. */
type NewPod = KubernetesObject & { readonly spec: { readonly volumes?: readonly { readonly name: string }[] } }

interface Review {
  readonly request: { readonly uid: string; readonly namespace: string; readonly object: NewPod }
}

/** Which mesh it is of, and where the API server is. */
export interface InjectorStandInOptions {
  readonly api: KubernetesApi
  readonly server: Pick<ApiServerDescription, 'address' | 'folder' | 'caPem'>
  readonly meshName: string
  readonly defaultClass: string
  readonly signal: AbortSignal
}

/**
 * A webhook that writes on new pods what osm-injector writes of the sidecar, and adds none: class and uuid. A pod whose label `refused-by` names its class
 * is refused. The injector itself has tests of its own; pods of those are given real sidecars.
 */
export class InjectorStandIn {
  readonly #server: Server
  readonly #options: InjectorStandInOptions

  private constructor(options: InjectorStandInOptions) {
    const { folder } = options.server
    const [cert, key] = ['server.crt', 'server.key'].map((file) => readFileSync(join(folder, file)))
    this.#options = options
    this.#server = createServer({ cert, key }, (request, response) => {
      void text(request)
        .then((body) => this.#answer(JSON.parse(body) as Review))
        .then(
          (answer) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer)),
          (error: unknown) => response.writeHead(500).end(String(error)),
        )
    })
  }

  /** Starts it, and has the API server ask it about pods of the mesh. */
  static async start(options: InjectorStandInOptions): Promise<InjectorStandIn> {
    const standIn = new InjectorStandIn(options)
    const { api, server, meshName, signal } = options
    const port = await listen(standIn.#server, server.address, 0)
    const webhook = {
      name: 'pods.stand-in.test',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      clientConfig: { url: `https://${server.address}:${String(port)}/`, caBundle: btoa(server.caPem) },
      namespaceSelector: { matchLabels: { 'openservicemesh.io/monitored-by': meshName } },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    }
    const kind = 'MutatingWebhookConfiguration'
    await api.apply(
      resourceTypes.MutatingWebhookConfiguration,
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: `${meshName}-stand-in` },
        webhooks: [webhook],
      },
      { fieldManager: 'test', force: true, signal },
    )
    return standIn
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer({ request: { uid, namespace, object } }: Review): Promise<object> {
    const { api, defaultClass, signal } = this.#options
    const found = await api.get(resourceTypes.Namespace, { namespace: '', name: namespace }, signal)
    const { labels = {}, annotations = {} } = object.metadata
    const ofNamespace = found?.metadata.annotations?.[classAnnotation]
    const sidecarClass = annotations[classAnnotation] ?? ofNamespace ?? defaultClass
    const allowed = labels['refused-by'] !== sidecarClass
    const uuid = newProxyUUID()
    const bootstrap = { name: 'bootstrap', secret: { secretName: bootstrapSecretName(uuid) } }
    // A pod that has a sidecar already gets another one.
    const others = (object.spec.volumes ?? []).filter(({ name }) => name !== bootstrap.name)
    const written = [
      { op: 'add', path: '/metadata/labels', value: { ...labels, 'osm-proxy-uuid': uuid } },
      { op: 'add', path: '/metadata/annotations', value: { ...annotations, [classAnnotation]: sidecarClass } },
      { op: 'add', path: '/spec/volumes', value: [...others, bootstrap] },
    ]
    return {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: allowed
        ? { uid, allowed, patchType: 'JSONPatch', patch: btoa(JSON.stringify(written)) }
        : { uid, allowed, status: { code: 422, message: `class ${sidecarClass} does not serve this pod` } },
    }
  }
}
