import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { ProxyStatus } from '@osm-ts/core'
import type { MeshOptions, RunningInstance, RunningMesh } from '@osm-ts/standalone'

import { proxyStatus } from './sample-view.js'

/** A mesh without processes: a debug server, and instances that are what a test says. */
export class FakeMesh {
  readonly calls: string[] = []
  statuses: readonly ProxyStatus[] = [proxyStatus('shop-0', 'store', 'shop')]
  ready: () => Promise<void> = () => Promise.resolve()
  stop: () => Promise<void> = () => Promise.resolve()
  options: MeshOptions | undefined
  readonly #server: Server

  private constructor() {
    this.#server = createServer((_request, response) =>
      response.end(JSON.stringify({ proxies: this.statuses, refused: [] })),
    )
  }

  static async open(): Promise<FakeMesh> {
    const mesh = new FakeMesh()
    await new Promise<void>((resolve) => mesh.#server.listen(0, '127.0.0.1', resolve))
    return mesh
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Stands for startMesh. */
  readonly start = (options: MeshOptions): Promise<RunningMesh> => {
    this.options = options
    this.calls.push('start')
    options.onEvent({ type: 'controller', state: 'ready' })
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return Promise.resolve({
      stateFolder: options.stateFolder,
      controllerUrl: () => url,
      controllerPid: () => undefined,
      machinesUrl: () => undefined,
      instances: () => this.statuses.map(instanceOf),
      ready: () => this.ready(),
      stop: () => {
        this.calls.push('stop')
        return this.stop()
      },
    })
  }
}

function instanceOf({ uuid, name, identity, class: sidecarClass }: ProxyStatus): RunningInstance {
  const [namespace = '', instance = ''] = name.split('/')
  return {
    uuid,
    name: instance,
    namespace,
    workload: instance.replace(/-\d+$/, ''),
    identity,
    class: sidecarClass,
    pid: undefined,
    sidecarPid: undefined,
    admin: undefined,
    environment: {},
  }
}
