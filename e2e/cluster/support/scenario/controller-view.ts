import type { Problem, ProxyStatus } from '@osm-ts/core'
import type { Mesh } from '../mesh.js'
import { LocalPort } from '../local-port.js'

const debugPort = 9092

/** The debug pages of the controller of a mesh that has one. */
export class ControllerView {
  readonly #port: LocalPort

  private constructor(port: LocalPort) {
    this.#port = port
  }

  static async open({ cluster, namespace }: Mesh): Promise<ControllerView> {
    return new ControllerView(await LocalPort.toPod(cluster, namespace, 'deploy/osm-controller', debugPort))
  }

  async problems(): Promise<readonly Problem[]> {
    return (await this.#port.get<{ readonly problems: readonly Problem[] }>('/debug/problems')).problems
  }

  /** Proxies by the uuid of their pods. */
  async statuses(): Promise<ReadonlyMap<string, ProxyStatus>> {
    const { proxies } = await this.#port.get<{ readonly proxies: readonly ProxyStatus[] }>('/debug/status')
    return new Map(proxies.map((status) => [status.uuid, status]))
  }

  /** Generations of the objects that the controller has read, by `Kind namespace/name`; 0 for kinds that have none. */
  async generations(): Promise<ReadonlyMap<string, number>> {
    const { objects } = await this.#port.get<{ readonly objects: readonly ReadObject[] }>('/debug/objects')
    return new Map(
      objects.map(({ kind, namespace, name, generation = 0 }) => [`${kind} ${namespace}/${name}`, generation]),
    )
  }

  close(): void {
    this.#port.close()
  }
}

interface ReadObject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly generation?: number
}
