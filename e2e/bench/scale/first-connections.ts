import { round, type Summary, summarize } from '../statistics.js'
import { Controller } from './controller.js'
import { type ScalePrograms, serveMesh } from './mesh-server.js'
import { cpuMsOf, residentMiBOf } from './process-figures.js'
import { step, type ScaleEnvironment } from './scale-environment.js'

/** What it takes until all proxies have their first configuration. */
export interface FirstConnections {
  readonly services: number
  readonly pods: number
  readonly proxies: number
  /** From the start of the controller's process until it is ready, with the mesh in the API server. */
  readonly coldStartMs: number
  readonly memory: MemoryFigures
  /** Each proxy for itself, milliseconds; certificates are issued meanwhile. */
  readonly firstConnect: {
    readonly product: Summary
    readonly floor: Summary
    /** Processor time of the controller. */
    readonly controllerCpuSeconds: number
    /** Bytes that all proxies together were sent. */
    readonly sentBytes: number
  }
}

/** Resident memory in MiB. */
export interface MemoryFigures {
  /** The controller with the mesh and no proxy, and with all of them. */
  readonly controller: { readonly without: number; readonly with: number }
  readonly floor: { readonly without: number; readonly with: number }
  /** What one proxy takes of the controller beyond what it takes of the floor. */
  readonly perProxyBeyondFloor: number
}

/** Connects all proxies of a environment to the controller and to the floor, and looks at what both have in memory. */
export async function firstConnections(environment: ScaleEnvironment): Promise<FirstConnections> {
  const without = await residentMiBOf(environment.controller.pid)
  const { result: connected, cpuMs } = await cpuMsOf(environment.controller.pid, () =>
    step('first connections', () => environment.connect(true)),
  )
  const { of } = await environment.proxies.counters()
  const sentBytes = [...of.values()].reduce((sum, proxy) => sum + proxy.octets, 0)
  // What the floor is to answer is in its memory before it is measured.
  const floorWithout = await residentMiBOf(environment.floor.pid)
  const floorConnected = await step('first connections of the floor', () => environment.connectFloor())
  await environment.proxies.quiet(1000)
  const controllerWith = await residentMiBOf(environment.controller.pid)
  const floorWith = await residentMiBOf(environment.floor.pid)
  const { services, replicas } = environment.size
  const proxies = environment.certificates.proxies.length
  return {
    services,
    pods: services * replicas,
    proxies,
    coldStartMs: round(environment.controllerStartMs),
    memory: {
      controller: { without: round(without), with: round(controllerWith) },
      floor: { without: round(floorWithout), with: round(floorWith) },
      perProxyBeyondFloor: round((controllerWith - without - (floorWith - floorWithout)) / proxies),
    },
    firstConnect: {
      product: summarize(connected),
      floor: summarize(floorConnected),
      controllerCpuSeconds: round(cpuMs / 1000),
      sentBytes,
    },
  }
}

/** Resident memory in MiB of a controller whose mesh has namespaces and nothing else. */
export async function emptyControllerMiB(programs: ScalePrograms): Promise<number> {
  const size = { services: 0, replicas: 0, hubs: [], permissive: false }
  const mesh = await serveMesh(size, programs)
  try {
    const { controller } = await Controller.start({ ...mesh.start, profiles: undefined })
    try {
      return round(await residentMiBOf(controller.pid))
    } finally {
      await controller.stop()
    }
  } finally {
    await mesh.close()
  }
}
