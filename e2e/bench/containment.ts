import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { type DriverEntry, packageIntegrity } from '@osm-ts/driver-process'

import { type Convergence, type ConvergenceOptions, measureConvergence } from './convergence.js'
import { round, type Summary } from './statistics.js'

/** What loaded drivers that misbehave cost the others. */
export interface Containment {
  /** Drivers that were loaded, and what each does. */
  readonly drivers: readonly string[]
  /** From the change of a file to the last acknowledgement of an Envoy, in milliseconds: each run, in turns. */
  readonly without: readonly Summary[]
  readonly with: readonly Summary[]
  /** Of the p99 of the best run of each kind: what a machine does beside the benchmark makes runs worse, and never better. */
  readonly ratio: number
  /** The largest that it may be. */
  readonly wanted: number
}

/** What is measured. */
export interface ContainmentOptions extends Omit<ConvergenceOptions, 'others'> {
  /** Runs of each kind. */
  readonly turns: number
  /** Bundle of the program that serves driver packages. */
  readonly hostProgram: string
}

const WANTED = 1.2
const examples = new URL('../../packages/driver-process/test/packages/', import.meta.url).pathname
/** Packages that fail before they are drivers. */
const atLoad = ['hangs-at-load', 'throws-at-load', 'leaks-at-load']
/** What the others do when they are started. */
const inStart: Readonly<Record<string, string>> = { hangs: 'hang', throws: 'throw', leaks: 'leak-buffers' }

/** Measures {@link Containment}: the same mesh without those drivers and with all of them, in turns. */
export async function measureContainment(options: ContainmentOptions): Promise<Containment> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-bench-drivers-'))
  try {
    const entries = await makePackages(folder)
    const others: NonNullable<ConvergenceOptions['others']> = {
      drivers: { entries, programFolder: dirname(options.hostProgram), environment: process.env },
      sidecarDrivers: entries.map(({ name }) => ({ sidecarName: name, config: { do: inStart[name] ?? '' } })),
    }
    const runs: { without: Convergence; with: Convergence }[] = []
    for (let turn = 0; turn < options.turns; turn += 1)
      runs.push({ without: await measureConvergence(options), with: await measureConvergence({ ...options, others }) })
    const best = (kind: 'without' | 'with'): number => Math.min(...runs.map((run) => run[kind].change.p99))
    return {
      drivers: entries.map(({ name }) => name),
      without: runs.map((run) => run.without.change),
      with: runs.map((run) => run.with.change),
      ratio: round(best('with') / best('without')),
      wanted: WANTED,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function makePackages(folder: string): Promise<readonly DriverEntry[]> {
  const sources = new Map(atLoad.map((name) => [name, name]))
  for (const name of Object.keys(inStart)) sources.set(name, 'failing')
  return Promise.all(
    [...sources].map(async ([name, source]) => {
      const path = join(folder, name)
      await cp(join(examples, source), path, { recursive: true })
      const main = join(path, 'index.js')
      await writeFile(main, (await readFile(main, 'utf8')).replace("name: 'failing'", `name: '${name}'`))
      const integrity = await packageIntegrity(path)
      return { name, path, integrity, heapMb: 64, residentMb: 200, failurePolicy: 'Fail' as const }
    }),
  )
}
