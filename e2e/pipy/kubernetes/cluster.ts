import type { InterceptionOptions } from '@osm-ts/interception'

import { createMeshNetwork, type MeshNetwork, type WorkloadNetwork } from '@osm-ts/standalone/testing'
import { type OwnApiServer, programsFrom, startApiServer } from '../../api/harness/index.js'
import { ControllerProcess } from '../../api/support/controller-process.js'
import { defineKinds } from '../../api/support/definitions.js'
import { MeshObjects } from '../../api/support/mesh-objects.js'
import { proxyCredential } from '../../api/support/proxy-credential.js'
import { askInside, type InsideAnswer, type Question } from '../../dataplane/support/inside.js'
import { run } from '../../dataplane/support/kernel.js'
import { startAppInside } from '../support/app-inside.js'
import { freeAddresses } from '../support/apps.js'
import { startWorker } from '../support/worker.js'

/** User that sidecars run as; what they send is not redirected. */
const SIDECAR_UID = 1500
const MESH = 'plugged'
const CONTROL_PLANE = 'osm-system'

const interception: InterceptionOptions = { proxyUid: SIDECAR_UID, ipv6: 'refuse' }

/** A controller on a real API server, and real sidecars of class pipy that stand where a kubelet would have put them. */
export class PipyCluster {
  readonly objects: MeshObjects
  readonly server: OwnApiServer
  readonly controller: ControllerProcess
  readonly #network: MeshNetwork
  readonly #repoPort: number
  readonly #pods = new Map<string, WorkloadNetwork>()
  readonly #end: (() => Promise<void>)[] = []
  readonly #signal: AbortSignal

  private constructor(
    parts: Pick<PipyCluster, 'server' | 'objects' | 'controller'>,
    network: MeshNetwork,
    repoPort: number,
    signal: AbortSignal,
  ) {
    this.server = parts.server
    this.objects = parts.objects
    this.controller = parts.controller
    this.#network = network
    this.#repoPort = repoPort
    this.#signal = signal
  }

  static async open(signal: AbortSignal): Promise<PipyCluster> {
    const server = await startApiServer(programsFrom(process.env), signal)
    const { api } = server.client
    const network = await createMeshNetwork('free', signal)
    const objects = new MeshObjects(api, signal)
    const [repo = ''] = await freeAddresses(1)
    const repoPort = Number(repo.split(':')[1])
    await defineKinds(api, signal)
    await objects.namespace(CONTROL_PLANE, {})
    await objects.apply(
      JSON.stringify({
        apiVersion: 'config.openservicemesh.io/v1alpha2',
        kind: 'MeshConfig',
        metadata: { name: 'osm-mesh-config', namespace: CONTROL_PLANE },
        spec: {
          sidecar: { sidecarClass: 'pipy', sidecarDrivers: [{ sidecarName: 'pipy', proxyServerPort: repoPort }] },
          traffic: { enablePermissiveTrafficPolicyMode: true },
          observability: { enableDebugServer: true },
          featureFlags: { enablePluginPolicy: true },
        },
      }),
    )
    const controller = await ControllerProcess.start({
      name: 'pipy',
      folder: server.description.folder,
      kubeconfig: server.description.kubeconfigPath,
      // Of the network of the pods, and loopback, where alone debug pages answer.
      address: '0.0.0.0',
      meshName: MESH,
      osmNamespace: CONTROL_PLANE,
      environment: { OSM_DEFAULT_SIDECAR_CLASS: 'pipy' },
    })
    await controller.untilReady()
    return new PipyCluster({ server, objects, controller }, network, repoPort, signal)
  }

  /** A namespace of the mesh. */
  async namespace(name: string): Promise<void> {
    await this.objects.namespace(name, { 'openservicemesh.io/monitored-by': MESH })
  }

  /** A pod that runs, with its sidecar and a web server on port 8080. */
  async pod(namespace: string, name: string): Promise<string> {
    const network = await this.#network.addWorkload({ name, interception, hosts: [] }, this.#signal)
    this.#pods.set(name, network)
    this.#end.push(await startAppInside({ network, name, program: 'http-server', port: 8080 }))
    const { address } = network
    const { uuid } = await this.objects.pod({
      namespace,
      name,
      account: name,
      address,
      meshName: MESH,
      sidecarClass: 'pipy',
    })
    const account = { namespace, name }
    const { api } = this.server.client
    const { chain, privateKey, roots } = await proxyCredential({
      api,
      osmNamespace: CONTROL_PLANE,
      uuid,
      account,
      signal: this.#signal,
    })
    const repo = `${this.#network.hostAddress}:${this.#repoPort}`
    const worker = await startWorker({
      channel: repo,
      serverName: `osm-controller.${CONTROL_PLANE}.svc.cluster.local`,
      credential: { chain, privateKey, expiry: '', serialNumber: '' },
      root: roots,
      admin: '127.0.0.1:15000',
      repo: { url: `https://${repo}/repo/osm-edge-sidecar/${uuid}.sidecar.${name}.${namespace}/`, uuid },
      enter: (argv) => network.command(argv, { uid: SIDECAR_UID }),
    })
    this.#end.push(() => worker.stop())
    return address
  }

  /** Lets a pod have a way to an address that no one has, such as that of a service. */
  route(pod: string, address: string): void {
    run('ip', ['-n', this.#namespaceOf(pod), 'route', 'replace', `${address}/32`, 'via', this.#network.hostAddress])
  }

  ask(pod: string, question: Question): Promise<InsideAnswer> {
    return askInside(this.#namespaceOf(pod), question)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#end.map((end) => end()))
    await this.controller.program.stop()
    await this.#network.destroy()
    await this.server.stop()
  }

  #namespaceOf(pod: string): string {
    const network = this.#pods.get(pod)
    if (network === undefined) throw new Error(`there is no pod ${pod}`)
    return network.namespace
  }
}
