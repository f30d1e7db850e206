import { X509Certificate } from 'node:crypto'
import { request as httpRequest } from 'node:http'

import { parseProxyUUID } from '@osm-ts/core'
import { isKubernetesError, type KubernetesApi, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

import { reconcileDeployment } from '../stand-in/deployments.js'
import type { Deployment, Pod } from '../stand-in/index.js'
import { MeshObjects } from './mesh-objects.js'
import { proxyCredential } from './proxy-credential.js'
import { SimulatedProxy } from './simulated-proxy.js'

const roundMs = 150

/** Where everything is. */
export interface WorkloadsStandInOptions {
  readonly api: KubernetesApi
  readonly namespace: string
  readonly osmNamespace: string
  readonly meshName: string
  /** Address of the controller. */
  readonly controller: string
  /** Ports of the proxy control planes of classes. */
  readonly ports: { readonly envoy: number; readonly working: number }
  /** True of pods that are never to become ready. */
  readonly isStuck: (pod: Pod) => boolean
  readonly signal: AbortSignal
}

/**
 * Replaces what makes Deployments of a namespace run: for their controller, and for a kubelet that runs nothing and says of pods that they are ready. Their proxies
 * are simulated: they connect to the control plane of their class with the certificate that an injector would have given them.
 */
export class WorkloadsStandIn {
  readonly #options: WorkloadsStandInOptions
  readonly #objects: MeshObjects
  readonly #abort = new AbortController()
  readonly #loop: Promise<void>
  /** What ends the proxy of a pod, by the uid of the pod. */
  readonly #proxies = new Map<string, () => void>()
  readonly #addresses = new Map<string, string>()
  readonly faults: string[] = []

  constructor(options: WorkloadsStandInOptions) {
    this.#options = options
    this.#objects = new MeshObjects(options.api, options.signal)
    this.#loop = this.#follow(AbortSignal.any([options.signal, this.#abort.signal]))
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#loop
    for (const end of this.#proxies.values()) end()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(signal)
      await new Promise((resolve) => setTimeout(resolve, roundMs))
    }
  }

  /** What is gone is checked no more in the next round, and what others have written is read again. */
  async #attempt(signal: AbortSignal): Promise<void> {
    try {
      await this.#round(signal)
    } catch (error) {
      const isUsual = isKubernetesError(error) && (error.notFound || error.conflict)
      if (!signal.aborted && !isUsual) this.faults.push(String(error))
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { api, namespace } = this.#options
    const listed = async <T>(type: (typeof resourceTypes)['Pod' | 'Deployment']): Promise<readonly T[]> =>
      (await api.list(type, { namespace }, signal)).items as unknown as readonly T[]
    const deployments = await listed<Deployment>(resourceTypes.Deployment)
    const pods = await listed<Pod>(resourceTypes.Pod)
    const uids = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const [uid, end] of this.#proxies) {
      if (uids.has(uid)) continue
      this.#proxies.delete(uid)
      end()
    }
    for (const pod of pods) await this.#run(pod, signal)
    for (const deployment of deployments) await reconcileDeployment(deployment, pods, api, signal)
  }

  async #run(pod: Pod, signal: AbortSignal): Promise<void> {
    const { isStuck, meshName, namespace } = this.#options
    const { name, uid = '', labels = {} } = pod.metadata
    const uuid = labels['osm-proxy-uuid']
    if (this.#proxies.has(uid) || uuid === undefined || isStuck(pod)) return
    await this.#objects.secret(namespace, uuid, meshName)
    const address = this.#addresses.get(uid) ?? `10.9.0.${String(this.#addresses.size + 1)}`
    this.#addresses.set(uid, address)
    await this.#objects.runs(namespace, name, address)
    this.#proxies.set(uid, await this.#connect(pod, uuid, signal))
  }

  /** Connects the proxy of a pod; gives what ends it. */
  async #connect({ metadata, spec }: Pod, uuid: string, signal: AbortSignal): Promise<() => void> {
    const { api, namespace, osmNamespace, controller, ports } = this.#options
    const account = { namespace, name: spec.serviceAccountName ?? 'default' }
    const who = { api, osmNamespace, uuid: parseProxyUUID(uuid), account, signal }
    if (metadata.annotations?.['openservicemesh.io/sidecar-class'] === 'envoy') {
      const target = `${controller}:${String(ports.envoy)}`
      // A controller turns a proxy away until it has heard of its pod; a real one returns.
      return reconnecting(async () => {
        const proxy = await SimulatedProxy.connect({ ...who, target })
        return { failed: () => proxy.error !== undefined, close: () => proxy.close() }
      })
    }
    const { chain } = await proxyCredential(who)
    return reconnecting(() => Promise.resolve(session(controller, ports.working, new X509Certificate(chain).raw)))
  }
}

interface Connection {
  readonly failed: () => boolean
  readonly close: () => void
}

/** Keeps a connection until it is told to end. */
function reconnecting(connect: () => Promise<Connection>): () => void {
  let current: Connection | undefined
  let isBusy = false
  const ending = new AbortController()
  const renew = async (): Promise<void> => {
    current?.close()
    const made = await connect()
    if (ending.signal.aborted) made.close()
    else current = made
  }
  const look = (): void => {
    if (isBusy || current?.failed() === false) return
    isBusy = true
    void renew()
      .catch(() => undefined)
      .finally(() => (isBusy = false))
  }
  const timer = setInterval(look, roundMs)
  look()
  return () => {
    clearInterval(timer)
    ending.abort()
    current?.close()
  }
}

/** A session of the driver of class `working`, which lasts as long as the connection. */
function session(host: string, port: number, certificate: Buffer): Connection {
  let isOver = false
  const request = httpRequest({ host, port, method: 'POST', path: '/session', agent: false })
  request.on('response', (response) => response.resume().on('close', () => (isOver = true)))
  request.on('error', () => (isOver = true))
  request.end(certificate)
  return { failed: () => isOver, close: () => request.destroy() }
}

/** A Deployment that needs nothing to run. */
export function deployment(
  namespace: string,
  name: string,
  {
    labels = {},
    replicas = 1,
  }: { readonly labels?: Readonly<Record<string, string>>; readonly replicas?: number } = {},
): KubernetesObject {
  const container = { name: 'app', image: 'none', ports: [{ containerPort: 8080 }] }
  const spec = { serviceAccountName: name, automountServiceAccountToken: false, containers: [container] }
  const selector = { matchLabels: { app: name } }
  const template = { metadata: { labels: { app: name, ...labels } }, spec }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name },
    spec: { replicas, selector, template },
  }
}
