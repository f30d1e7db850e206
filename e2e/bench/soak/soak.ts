import { round } from '../statistics.js'
import { descriptorsOf } from '../scale/process-figures.js'
import { Proxies } from '../scale/proxies.js'
import type { ScalePrograms } from '../scale/mesh-server.js'
import { step, withScaleEnvironment } from '../scale/scale-environment.js'
import { Churn, RETRIES } from './churn.js'
import { type Growth, growthOf, type Samples } from './growth.js'
import type { HeapReport } from './probe.js'

/** How long a controller runs under load, and which load it is. */
export interface SoakOptions {
  /** N: it is checked after so many cycles, and after as many again. */
  readonly cycles: number
  /** Cycles before that, in which caches fill and code is compiled. */
  readonly warmUp: number
  /** Proxies that are connected; a third of them reconnects in each cycle. */
  readonly proxies: number
  /** Bytes that the controller is made to keep in each cycle, to see that it is noticed. */
  readonly keepPerCycle: number
  readonly programs: ScalePrograms
}

/** What is left of changes, reconnects and new roots. */
export interface SoakFigures extends Growth {
  readonly cycles: number
  readonly warmUp: number
  readonly proxies: number
  /** Of all cycles together. */
  readonly done: {
    readonly objectsWritten: number
    readonly reconnects: number
    readonly rootRotations: number
    readonly minutes: number
  }
  /** MiB at N and at 2N, not judged: the heap is as large as V8 likes it. */
  readonly residentMiB: { readonly atN: number; readonly at2N: number }
}

/** Looked at in each of the last so many cycles before either moment. */
const SAMPLES = 6
/** KiB: less than what one connection takes. */
const ALLOWED_PER_CYCLE = 16
const SERVICES = 50
/**
 * Services whose coming and going fills what the driver of class envoy keeps of responses, for each proxy that is told: 16 MiB of frames, with the resources in them. Seen to be full after 110 services
 * with 40 proxies.
 */
const FILLING_PUSHES = 4800
/** Of each service; each has its own proxy. */
const REPLICAS = 4
const KIBIBYTE = 1024

/** Has a controller live through compressed days: each cycle is what a cluster sees in hours. */
export async function measureSoak(options: SoakOptions): Promise<SoakFigures> {
  const { cycles, warmUp, proxies, programs } = options
  if (cycles < SAMPLES) throw new RangeError(`a soak takes ${SAMPLES} cycles at least`)
  const staying = REPLICAS * Math.floor((2 * proxies) / 3 / REPLICAS)
  const size = {
    services: SERVICES,
    replicas: REPLICAS,
    connected: proxies,
    hubs: [staying],
    permissive: false,
  }
  const start = performance.now()
  return withScaleEnvironment(size, programs, async (environment) => {
    const comingAndGoing = await Proxies.start(programs.proxies)
    try {
      await environment.proxies.connect(
        environment.server,
        environment.certificates.proxies.slice(0, staying),
        120_000,
        {
          retries: RETRIES,
        },
      )
      const churn = new Churn(environment, staying, comingAndGoing)
      const run = async (count: number): Promise<Samples & { readonly resident: number }> => {
        const reports: HeapReport[] = []
        const descriptors: number[] = []
        for (let left = count; left > 0; left -= 1) {
          await churn.cycle()
          if (options.keepPerCycle > 0) environment.controller.probe.keep(options.keepPerCycle)
          if (left > SAMPLES) continue
          reports.push(await environment.controller.probe.collect())
          descriptors.push(await descriptorsOf(environment.controller.pid))
        }
        const kibibytes = reports.map(({ heap, external }) => (heap + external) / KIBIBYTE)
        return { kibibytes, descriptors, resident: (reports.at(-1)?.resident ?? 0) / KIBIBYTE ** 2 }
      }
      await step('what is kept is filled', () => churn.fill(Math.ceil(FILLING_PUSHES / staying)))
      await step(`${warmUp} cycles of warm-up`, () => run(warmUp))
      const atN = await step(`cycles to ${cycles}`, () => run(cycles))
      const at2N = await step(`cycles to ${2 * cycles}`, () => run(cycles))
      return {
        cycles,
        warmUp,
        proxies,
        done: { ...churn.done, minutes: round((performance.now() - start) / 60_000) },
        ...growthOf(atN, at2N, cycles, ALLOWED_PER_CYCLE),
        residentMiB: { atN: round(atN.resident), at2N: round(at2N.resident) },
      }
    } finally {
      await comingAndGoing.close()
    }
  })
}
