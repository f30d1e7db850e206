import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { countOutcome, runTiers } from './run-tiers.mjs'
import { runWithBudget } from './run-with-budget.mjs'
import type { Tier, TierPlan } from './tiers.mjs'

const folder = temporaryFolders()
const writeCounts = (counts: string) => `echo '${counts}' > "$OSM_COUNTS_FILE"`

function tier(name: string, command: string, needs: readonly string[] = []): Tier {
  return { name, command, needs, minutes: 1 }
}

async function runPlan(
  tiers: readonly Tier[],
  outside: TierPlan['outside'] = {},
  signal = new AbortController().signal,
) {
  const lines: string[] = []
  const code = await runTiers({ tiers, outside }, { cwd: tmpdir(), signal, print: (line) => lines.push(line) })
  return { code, lines, last: lines.at(-1) }
}

describe('runTiers', () => {
  it('sums what tiers count themselves and counts others as one test', async () => {
    const counting = tier('test', writeCounts('{"passed":5,"failed":0,"skipped":2}'))
    const { code, last } = await runPlan([tier('check', 'true'), counting])
    expect(last).toBe('6 passed, 0 failed, 2 skipped')
    expect(code).toBe(0)
  })

  it('continues after a failure, and fails', async () => {
    const { code, last } = await runPlan([tier('check', 'exit 3'), tier('demo', 'true')])
    expect(last).toBe('1 passed, 1 failed, 0 skipped')
    expect(code).toBe(1)
  })

  it('prints exactly one line in the form of the sum', async () => {
    const { lines } = await runPlan([tier('check', 'true'), tier('demo', 'true')])
    expect(lines.filter((line) => /\d+ passed, \d+ failed, \d+ skipped/.test(line))).toHaveLength(1)
  })

  it('gives a tier the minutes that the tiers before it have left, but none of a tier outside of the sum', async () => {
    const outside = { 'a moon': { probe: 'true', why: 'no registry carries one', inNoRegistry: true } }
    const quick = { ...tier('quick', 'true'), minutes: 2 }
    const extra = { ...tier('tides', 'true', ['a moon']), minutes: 14 }
    const { lines } = await runPlan([quick, extra, tier('slow', 'sleep 1'), tier('last', 'true')], outside)
    const limits = lines.flatMap((line) => /^======== (\w+): .* \(at most (.*) min\)$/.exec(line)?.slice(1) ?? [])
    expect(limits).toEqual(['quick', '2', 'tides', '14', 'slow', '3', 'last', '4'])
    const over = { ...tier('late', 'sleep 30'), minutes: 0.005 }
    const { last } = await runPlan([over, { ...tier('next', 'sleep 30'), minutes: 0.005 }])
    expect(last).toBe('0 passed, 2 failed, 0 skipped')
  })

  it('announces a tier that needs what is not there, and does not run it', async () => {
    const outside = { 'a moon': { probe: 'exit 1', why: 'no registry carries one' } }
    const { code, lines, last } = await runPlan([tier('tides', 'exit 1', ['a moon']), tier('check', 'true')], outside)
    expect(lines.join('\n')).toContain('NOT RUN: tides needs a moon: no registry carries one')
    expect(last).toBe('1 passed, 0 failed, 0 skipped')
    expect(code).toBe(0)
  })

  it('runs a tier whose outside need is there', async () => {
    const outside = { 'a moon': { probe: 'true', why: 'it is there' } }
    expect((await runPlan([tier('tides', 'exit 1', ['a moon'])], outside)).code).toBe(1)
  })
})

describe('countOutcome', () => {
  const counted = '{"passed":5,"failed":0,"skipped":0}'

  it('counts a tier over its budget as failed, whatever it had counted', () => {
    expect(countOutcome({ kind: 'overBudget' }, undefined)).toEqual({ passed: 0, failed: 1, skipped: 0 })
    expect(countOutcome({ kind: 'overBudget' }, counted)).toEqual({ passed: 5, failed: 1, skipped: 0 })
  })

  it('counts a bad exit code once', () => {
    expect(countOutcome({ kind: 'exited', code: 1 }, counted)).toEqual({ passed: 5, failed: 1, skipped: 0 })
    const withFailure = '{"passed":5,"failed":2,"skipped":0}'
    expect(countOutcome({ kind: 'exited', code: 1 }, withFailure)).toEqual({ passed: 5, failed: 2, skipped: 0 })
  })
})

describe('runWithBudget', () => {
  const signal = new AbortController().signal

  it('ends the whole process group when the time is over, also where it ignores being told', async () => {
    const cwd = folder()
    const command = `trap '' TERM; (trap '' TERM; echo $BASHPID > child; while :; do sleep 0.1; done) & wait; sleep 60`
    const outcome = await runWithBudget(command, { milliseconds: 400, cwd, env: process.env, signal, grace: 100 })
    expect(outcome).toEqual({ kind: 'overBudget' })
    await expectToEnd(Number(readFileSync(join(cwd, 'child'), 'utf8')))
  })

  it('lets a program clean up when it is told to end', async () => {
    const cwd = folder()
    const abort = new AbortController()
    const command = `trap 'touch cleaned; exit 5' TERM; touch ready; while :; do sleep 0.05; done`
    const running = runWithBudget(command, { milliseconds: 60_000, cwd, env: process.env, signal: abort.signal })
    await until(() => existsSync(join(cwd, 'ready')))
    abort.abort()
    expect(await running).toEqual({ kind: 'exited', code: 5 })
    expect(existsSync(join(cwd, 'cleaned'))).toBe(true)
  })

  it('kills what a program leaves behind', async () => {
    const cwd = folder()
    const command = `sleep 600 & echo $! > child`
    await runWithBudget(command, { milliseconds: 60_000, cwd, env: process.env, signal })
    await expectToEnd(Number(readFileSync(join(cwd, 'child'), 'utf8')))
  })

  function expectToEnd(pid: number): Promise<void> {
    return until(() => !isRunning(pid))
  }

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  /** A killed process stays in the table as a zombie until somebody reaps it. */
  function isRunning(pid: number): boolean {
    try {
      process.kill(pid, 0)
    } catch {
      return false
    }
    const stat = `/proc/${pid}/stat`
    return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'))
  }
})
