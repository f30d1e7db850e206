import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { round, type Summary, summarize } from './statistics.js'

/** Milliseconds of processes from their start to their end. */
export interface CliStart {
  /** `osm version --client-only`. */
  readonly osm: Summary
  /** `node -e 0`, which does nothing. */
  readonly node: Summary
  /** Of the medians. */
  readonly beyondNode: number
}

/** Runs both in turns. */
export async function measureCliStart(options: {
  readonly program: string
  readonly rounds: number
}): Promise<CliStart> {
  const run = promisify(execFile)
  const timed = async (args: readonly string[]): Promise<number> => {
    const start = performance.now()
    await run(process.execPath, args)
    return performance.now() - start
  }
  const [osm, node]: [number[], number[]] = [[], []]
  // The first of each reads its files from the disk.
  for (let n = 0; n <= options.rounds; n += 1) {
    const ours = await timed([options.program, 'version', '--client-only'])
    const bare = await timed(['-e', '0'])
    if (n === 0) continue
    osm.push(ours)
    node.push(bare)
  }
  const [ours, bare] = [summarize(osm), summarize(node)]
  return { osm: ours, node: bare, beyondNode: round(ours.p50 - bare.p50) }
}
