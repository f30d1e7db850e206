import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { round } from '../statistics.js'

/** A mesh whose proxies are all connected to one replica. */
export interface LimitSize {
  readonly proxies: number
  /** Proxies of each service. */
  readonly replicas: number
  /** Services that each service may call. */
  readonly reach: number
  /** How often an endpoint comes or goes. */
  readonly changes: number
}

/** What so many proxies cost one replica, without their connections. */
export interface LimitFigures {
  readonly proxies: number
  readonly services: number
  /** After forced collections. */
  readonly memoryMiB: {
    readonly objects: number
    readonly policies: number
    /** Of host and driver, with what is translated and the certificates as they are sent. */
    readonly sessions: number
    /** All of these, for each proxy. */
    readonly perProxyKiB: number
  }
  /** Milliseconds of processor time. */
  readonly cpu: {
    readonly firstComputationMsPerProxy: number
    readonly certificateMs: number
    /** First configuration of a proxy, up to its acknowledgement. */
    readonly connectMsPerProxy: number
    /** One endpoint: computation, translation and acknowledgement of all whom it concerns. */
    readonly changeMs: number
    readonly changeMsPerAffected: number
  }
  /** Proxies that the change of an endpoint concerns. */
  readonly affected: number
  readonly octetsPerProxy: number
}

/** What proxies cost, and how far that is a straight line. */
export interface Limits {
  readonly sizes: readonly LimitFigures[]
  /** Least squares over all sizes. */
  readonly memory: Line
  /** MiB that the line gives for so many proxies. */
  readonly extrapolated: { readonly proxies: number; readonly memoryMiB: number }
}

/** MiB by the number of proxies. */
export interface Line {
  readonly baseMiB: number
  readonly perProxyKiB: number
  /** Largest distance of a measured size from the line, as share of what was measured there. */
  readonly largestDeviation: number
}

const KIBIBYTE = 1024
const HEAP_MIB = 12_288

/** Measures each size in its own process. */
export async function measureLimits(options: {
  readonly program: string
  readonly sizes: readonly LimitSize[]
  readonly extrapolateTo: number
}): Promise<Limits> {
  const sizes: LimitFigures[] = []
  for (const size of options.sizes) {
    const start = performance.now()
    sizes.push(await run(options.program, size))
    console.error(`  ${size.proxies} proxies: ${((performance.now() - start) / 1000).toFixed(1)} s`)
  }
  const memory = lineThrough(sizes.map(({ proxies, memoryMiB }) => [proxies, totalOf(memoryMiB)]))
  const { extrapolateTo: proxies } = options
  const memoryMiB = round(memory.baseMiB + (memory.perProxyKiB * proxies) / KIBIBYTE)
  return { sizes, memory, extrapolated: { proxies, memoryMiB } }
}

function totalOf({ objects, policies, sessions }: LimitFigures['memoryMiB']): number {
  return objects + policies + sessions
}

/**
 * Least squares.
 *
 * @throws RangeError with fewer than two sizes
 */
export function lineThrough(points: readonly (readonly [proxies: number, memoryMiB: number])[]): Line {
  if (points.length < 2) throw new RangeError('a line takes two sizes at least')
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([proxies]) => proxies)), mean(points.map(([, memory]) => memory))]
  const slope =
    points.reduce((sum, [proxies, memory]) => sum + (proxies - x) * (memory - y), 0) /
    points.reduce((sum, [proxies]) => sum + (proxies - x) ** 2, 0)
  const base = y - slope * x
  const deviations = points.map(([proxies, memory]) => Math.abs(base + slope * proxies - memory) / memory)
  return {
    baseMiB: round(base),
    perProxyKiB: round(slope * KIBIBYTE),
    largestDeviation: round(Math.max(...deviations)),
  }
}

async function run(program: string, size: LimitSize): Promise<LimitFigures> {
  const args = ['--expose-gc', `--max-old-space-size=${HEAP_MIB}`, program, JSON.stringify(size)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the simulation of ${size.proxies} proxies ended with ${String(code)}`)
  return rounded(JSON.parse(output)) as LimitFigures
}

/** Numbers with three digits behind the point. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return round(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rounded(inner)]))
}
