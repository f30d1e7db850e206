import { BaselineServer, type MessagesByType } from '../baseline-server.js'
import type { MeshApi } from './api.js'
import { issueCertificates, type MeshCertificates } from './certificates.js'
import { Controller } from './controller.js'
import { scaleProxies, type ScaleSize } from './mesh.js'
import { type ScalePrograms, serveMesh } from './mesh-server.js'
import { Proxies, type ProxyServer } from './proxies.js'

/** What every benchmark of scale is told. */
export interface ScaleMesh {
  readonly services: number
  /** Pods of each service, each with a proxy. */
  readonly replicas: number
  readonly programs: ScalePrograms
}

/** Messages that some proxies were sent first, by type. */
export interface FirstAnswers {
  readonly nodeIds: readonly string[]
  readonly types: MessagesByType
}

/** Changes are collected for so long after the first one, at most. */
const MAX_DEBOUNCE_MS = 1000
/** Nothing is under way when nothing was acknowledged for so long. */
const QUIET_MS = 400
const CONNECT_TIMEOUT_MS = 120_000
const CONNECT_RETRIES = 100

/**
 * A generated mesh with a real osm-controller in its own process, an API server in another, and simulated proxies in a third; beside them the floor,
 * a bare gRPC server, with as many proxies in their own process.
 */
export class ScaleEnvironment {
  readonly size: ScaleSize
  readonly api: MeshApi
  readonly controller: Controller
  readonly floor: BaselineServer
  readonly certificates: MeshCertificates
  readonly proxies: Proxies
  readonly floorProxies: Proxies
  readonly server: ProxyServer
  readonly floorServer: ProxyServer
  /** Milliseconds from the start of the controller's process until it was ready. */
  readonly controllerStartMs: number
  readonly #closeMesh: () => Promise<void>
  #firstAnswers: readonly FirstAnswers[] = []

  private constructor(
    parts: Omit<ScaleEnvironment, 'close' | 'settled' | 'nodeIds' | 'connect' | 'connectFloor' | 'firstAnswers'>,
    closeMesh: () => Promise<void>,
  ) {
    this.size = parts.size
    this.api = parts.api
    this.controller = parts.controller
    this.floor = parts.floor
    this.certificates = parts.certificates
    this.proxies = parts.proxies
    this.floorProxies = parts.floorProxies
    this.server = parts.server
    this.floorServer = parts.floorServer
    this.controllerStartMs = parts.controllerStartMs
    this.#closeMesh = closeMesh
  }

  static async start(size: ScaleSize, programs: ScalePrograms): Promise<ScaleEnvironment> {
    const { api, start, proxyPort, close } = await serveMesh(size, programs)
    const { controller, ms: controllerStartMs } = await Controller.start(start).catch(async (error: unknown) => {
      await close()
      throw error
    })
    const certificates = await issueCertificates(await api.api(), scaleProxies(size), AbortSignal.timeout(600_000))
    const floor = await BaselineServer.start(programs.floor)
    const floorPort = await floor.listen(certificates.floor)
    const { serverName, controlPlaneRoots: roots } = certificates
    return new ScaleEnvironment(
      {
        size,
        api,
        controller,
        floor,
        certificates,
        proxies: await Proxies.start(programs.proxies),
        floorProxies: await Proxies.start(programs.proxies),
        server: { port: proxyPort, serverName, roots },
        floorServer: { port: floorPort, serverName, roots },
        controllerStartMs,
      },
      close,
    )
  }

  /** Node ids of the first proxies. */
  nodeIds(count: number): readonly string[] {
    return this.certificates.proxies.slice(0, count).map(({ nodeId }) => nodeId)
  }

  /**
   * Connects all proxies to the controller at once; gives the milliseconds after which each was configured.
   *
   * @param record - true: keep what the first proxy of each service was sent (in permissive mode: the first of all), for the floor to send it as well
   */
  async connect(record = false): Promise<readonly number[]> {
    const { proxies } = this.certificates
    // In permissive mode what one is sent is the size of what each is sent, and a hundred times as much is a lot to keep.
    const alike = this.size.permissive ? proxies.length : this.size.replicas
    const recorded = record ? proxies.filter(({ index }) => index % alike === 0).map(({ index }) => index) : []
    // Who waits too long for a handshake is refused and comes again, as Envoy does.
    const options = { record: recorded, retries: CONNECT_RETRIES }
    const times = await this.proxies.connect(this.server, proxies, CONNECT_TIMEOUT_MS, options)
    if (record) {
      this.#firstAnswers = (await this.proxies.recorded()).map(([index, types]) => ({
        nodeIds: proxies.slice(index, index + alike).map(({ nodeId }) => nodeId),
        types,
      }))
      for (const { nodeIds, types } of this.#firstAnswers) await this.floor.answer(nodeIds, types)
    }
    return times
  }

  /** What proxies that are sent the same were sent first, as far as it was recorded. */
  get firstAnswers(): readonly FirstAnswers[] {
    return this.#firstAnswers
  }

  /** Connects as many proxies to the floor. */
  async connectFloor(): Promise<readonly number[]> {
    return this.floorProxies.connect(this.floorServer, this.certificates.proxies, CONNECT_TIMEOUT_MS)
  }

  /** Waits until proxies have acknowledged what was changed before. Gives the time of the last acknowledgement, in nanoseconds of the monotonic clock. */
  async settled(): Promise<bigint> {
    // However long changes continue, they are not held back for longer than this.
    await new Promise((resolve) => setTimeout(resolve, MAX_DEBOUNCE_MS))
    return this.proxies.quiet(QUIET_MS)
  }

  async close(): Promise<void> {
    await Promise.all([this.proxies.close(), this.floorProxies.close()])
    await Promise.all([this.controller.stop(), this.floor.close()])
    await this.#closeMesh()
  }
}

/** Has something done with a environment, and ends it. What goes wrong comes with the last words of the controller. */
export async function withScaleEnvironment<T>(
  size: ScaleSize,
  programs: ScalePrograms,
  action: (environment: ScaleEnvironment) => Promise<T>,
): Promise<T> {
  const environment = await step('start', () => ScaleEnvironment.start(size, programs))
  try {
    return await action(environment)
  } catch (error) {
    throw new Error(`the last words of the controller:\n${environment.controller.lastWords()}`, { cause: error })
  } finally {
    await environment.close()
  }
}

/** Has one thing done, and says how long that took. */
export async function step<T>(name: string, action: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await action()
  console.error(`  ${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
  return result
}
