import { setTimeout as pause } from 'node:timers/promises'

import type { OptionalFeature } from '@osm-ts/driver-api'

import type { Call, CallAnswer, CallTls } from '../../actor/protocol.js'
import { makeCall, interceptedRoutes } from '../../scenarios/make-call.js'
import { Violation } from '../check.js'
import { controllerName, type InstalledMesh, withoutRegistry } from './installed-mesh.js'
import type { Kubectl, Manifest } from './kubectl.js'
import {
  allow,
  appCommand,
  appObject,
  openRoutes,
  type PodApp,
  portRoute,
  service,
  type Workload,
  workloadObjects,
} from './manifests.js'
import { PodCaller } from './pod-caller.js'

/** Pods that have to be pulled, injected and scheduled. */
const ROLLOUT_SECONDS = 180
const SETTLE_MS = 60_000
const EVERY_MS = 200
/** So many answers in a row are no luck. */
const IN_A_ROW = 5
const REMOVAL_SECONDS = 120
/** What the container of the mesh is called; containers of users may have the name, but not the volume. */
const SIDECAR_NAMES: ReadonlySet<string> = new Set(['osm-sidecar', 'sidecar'])
const BOOTSTRAP_VOLUME = 'sidecar-bootstrap-config-volume'
/** Of a TLS connection that the mesh does not know. */
const MESH_PROTOCOL = 'osm'

/** What level 2 is tried in. */
export interface ClusterGroundOptions {
  readonly kubectl: Kubectl
  readonly mesh: InstalledMesh
  /** Class that the pods ask for. */
  readonly sidecarClass: string
  /** Features that the driver does not declare. */
  readonly lacks: readonly OptionalFeature[]
  readonly app: PodApp
  /** Begins the names of the namespaces, which no one else has. */
  readonly prefix: string
}

/** A pod, as far as it is read here. */
export interface RunningPod {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: { readonly containers: readonly Container[]; readonly initContainers?: readonly Container[] }
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly { readonly name: string; readonly state?: { readonly running?: object } }[]
  }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly volumeMounts?: readonly { readonly name: string }[]
  readonly readinessProbe?: { readonly httpGet?: { readonly path?: string; readonly port?: number | string } }
}

/** Two namespaces of a cluster, one of the mesh and one outside of it, with workloads that call each other. */
export class ClusterFixture {
  /** Of the mesh. */
  readonly namespace: string
  /** Not of the mesh. */
  readonly outside: string
  readonly options: ClusterGroundOptions
  readonly #callers = new Map<string, PodCaller>()
  #begun: Promise<void> | undefined
  #sidecar = ''

  constructor(options: ClusterGroundOptions) {
    this.options = options
    this.namespace = `${options.prefix}-mesh`
    this.outside = `${options.prefix}-outside`
  }

  /** Image of the sidecar that pods were seen with, without its registry; empty before. */
  get sidecarImage(): string {
    return this.#sidecar
  }

  /** Workloads of the mesh. */
  workloads(): readonly Workload[] {
    const { namespace } = this
    const probed = this.options.lacks.includes('probes-http') ? {} : { readyPath: '/ready' }
    const tier = { labels: { tier: 'all' }, ports: { 8080: 'http' } } as const
    return [
      { namespace, name: 'client' },
      { namespace, name: 'thief' },
      { namespace, name: 'server', ...tier, ...probed, replicas: 2 },
      { namespace, name: 'twin', ...tier, account: 'server' },
      { namespace, name: 'echo', ports: { 9000: 'tcp' } },
    ]
  }

  /** Resolves when everything runs; anyone who comes first starts it. Rejects for all with why it does not. */
  begin(signal: AbortSignal): Promise<void> {
    this.#begun ??= this.#begin(signal)
    return this.#begun
  }

  /** Takes everything away. @param wait - until it is gone */
  async close(wait: boolean): Promise<void> {
    for (const caller of this.#callers.values()) caller.close()
    const names = ['namespace', this.namespace, this.outside]
    const args = ['delete', ...names, '--ignore-not-found', `--wait=${wait}`, `--timeout=${REMOVAL_SECONDS}s`]
    await this.options.kubectl.run(args, { timeoutMs: (REMOVAL_SECONDS + 30) * 1000 })
  }

  apply(objects: readonly Manifest[], signal: AbortSignal): Promise<string> {
    return this.options.kubectl.apply(objects, { signal })
  }

  remove(objects: readonly Manifest[], signal: AbortSignal): Promise<void> {
    return this.options.kubectl.remove(objects, { signal })
  }

  /** Waits until the pods of a workload are those that it should have, and ready. */
  async rollout(namespace: string, workload: string, signal: AbortSignal): Promise<void> {
    const what = `deployment/${workload}`
    const args = ['rollout', 'status', what, '-n', namespace, `--timeout=${ROLLOUT_SECONDS}s`]
    await this.options.kubectl.run(args, { timeoutMs: (ROLLOUT_SECONDS + 30) * 1000, signal })
  }

  async pods(workload: string, signal: AbortSignal): Promise<readonly RunningPod[]> {
    const args = ['pods', '-n', this.namespace, '-l', `app=${workload}`]
    const { items } = await this.options.kubectl.get<{ readonly items: readonly RunningPod[] }>(args, { signal })
    return items
  }

  /** Replaces the pods of a workload of the mesh one after the other, and waits until those before are gone. */
  async restart(workload: string, signal: AbortSignal): Promise<void> {
    const { kubectl } = this.options
    const before = (await this.pods(workload, signal)).map(({ metadata }) => `pod/${metadata.name}`)
    await kubectl.run(['rollout', 'restart', `deployment/${workload}`, '-n', this.namespace], { signal })
    await this.rollout(this.namespace, workload, signal)
    const wait = ['wait', ...before, '-n', this.namespace, '--for=delete', `--timeout=${ROLLOUT_SECONDS}s`]
    await kubectl.run(wait, { timeoutMs: (ROLLOUT_SECONDS + 30) * 1000, signal })
  }

  /** Ends the pods of the controller at once, and waits for others. */
  async restartController(signal: AbortSignal): Promise<void> {
    const { kubectl, mesh } = this.options
    const args = ['delete', 'pod', '-n', mesh.namespace, '-l', `app=${controllerName}`, '--grace-period=1']
    await kubectl.run(args, { timeoutMs: ROLLOUT_SECONDS * 1000, signal })
    await this.rollout(mesh.namespace, controllerName, signal)
  }

  /** An HTTP request of a workload: of the mesh by its name, of the other namespace as outside/<name>. */
  get(from: string, url: string, tls?: CallTls): Promise<CallAnswer> {
    return this.call(from, makeCall({ kind: 'http', from, http: `GET ${url}` }, interceptedRoutes, tls))
  }

  /** A line over a TCP connection. */
  send(from: string, address: string, line: string): Promise<CallAnswer> {
    return this.call(from, makeCall({ kind: 'tcp', from, tcp: address, send: line }, interceptedRoutes, undefined))
  }

  call(from: string, call: Call): Promise<CallAnswer> {
    const [namespace, workload] = from.startsWith('outside/')
      ? [this.outside, from.slice('outside/'.length)]
      : [this.namespace, from]
    let caller = this.#callers.get(from)
    if (caller === undefined) {
      const { kubectl, app } = this.options
      caller = new PodCaller(kubectl, { target: `deploy/${workload}`, namespace, program: appCommand(app) })
      this.#callers.set(from, caller)
    }
    return caller.call(call)
  }

  /** Asks until answers are as they should be, some in a row; says what the last one was if that takes too long. */
  async becomes(
    what: string,
    ask: () => Promise<CallAnswer>,
    accept: (answer: CallAnswer) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const deadline = performance.now() + SETTLE_MS
    for (let row = 0; row < IN_A_ROW;) {
      signal.throwIfAborted()
      const answer = await ask()
      row = accept(answer) ? row + 1 : 0
      if (row === 0 && performance.now() > deadline)
        throw new Violation(`${what}: not within ${SETTLE_MS} ms; last: ${described(answer)}`)
      if (row === 0) await pause(EVERY_MS, undefined, { signal })
    }
  }

  /** Asks until it is so. */
  async until(what: string, isSo: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + SETTLE_MS
    while (!(await isSo())) {
      if (performance.now() > deadline) throw new Violation(`${what}: not within ${SETTLE_MS} ms`)
      await pause(EVERY_MS, undefined, { signal })
    }
  }

  /** What a client of the mesh shows first of TLS. */
  meshTls(workload: string): CallTls {
    return { serverName: `${workload}.${this.namespace}.svc.cluster.local`, alpn: [MESH_PROTOCOL] }
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const { app, mesh, sidecarClass } = this.options
    const { namespace, outside } = this
    const enrolled = {
      labels: { 'openservicemesh.io/monitored-by': mesh.name },
      annotations: {
        'openservicemesh.io/sidecar-injection': 'enabled',
        'openservicemesh.io/sidecar-class': sidecarClass,
      },
    }
    const named = (name: string, more: object = {}): Manifest => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, ...more },
    })
    await this.apply([named(namespace, enrolled), named(outside)], signal)
    const stranger: Workload = { namespace: outside, name: 'stranger', ports: { 8080: 'http' } }
    const all = [...this.workloads(), stranger]
    await this.apply(
      [
        ...[namespace, outside].map((each) => appObject(each, app)),
        openRoutes(namespace),
        portRoute(namespace, 9000),
        allow(namespace, 'client', 'server', 'http'),
        allow(namespace, 'client', 'echo', 'tcp'),
        service(namespace, 'all', { tier: 'all' }, { 8080: 'http' }),
        ...all.flatMap((workload) => workloadObjects(workload, app)),
      ],
      signal,
    )
    await Promise.all(all.map((workload) => this.rollout(workload.namespace, workload.name, signal)))
    const [pod] = await this.pods('server', signal)
    this.#sidecar = withoutRegistry(pod === undefined ? '' : (sidecarOf(pod)?.image ?? ''))
  }
}

/** The sidecar of a pod, wherever it stands among the containers. */
export function sidecarOf({ spec: { containers, initContainers = [] } }: RunningPod): Container | undefined {
  return [...initContainers, ...containers].find(
    ({ name, volumeMounts = [] }) =>
      SIDECAR_NAMES.has(name) && volumeMounts.some((mount) => mount.name === BOOTSTRAP_VOLUME),
  )
}

/** Who may call is answered. */
export function isAnswered({ status }: CallAnswer): boolean {
  return status === 200
}

/** Who may not call is refused by the mesh. A name that is unknown, and silence, are not refusals. */
export function isRefused({ status, received, closed, error }: CallAnswer): boolean {
  if (error !== undefined) return /ECONNREFUSED|ECONNRESET|EPIPE|hang up|closed|disconnected|alert|SSL/.test(error)
  if (status === 0) return received === undefined && closed === true
  return status === 400 || status === 403
}

/** An answer in a few words. */
function described({ status, received, closed, error }: CallAnswer): string {
  if (error !== undefined) return error
  if (status !== 0) return `status ${status}`
  return received === undefined ? `nothing${closed === true ? ', and the end of the connection' : ''}` : received
}
