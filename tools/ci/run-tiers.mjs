import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finalLine, noTests, parseCounts, partLine, sumCounts } from '../lib/counts.mjs'
import { formatSeconds } from '../lib/progress.mjs'
import { run } from '../lib/process.mjs'
import { runWithBudget } from './run-with-budget.mjs'

/** @typedef {import('../lib/counts.mjs').Counts} Counts */
/** @typedef {import('./tiers.mjs').Tier} Tier */
/** @typedef {import('./tiers.mjs').TierPlan} TierPlan */
/**
 * @typedef {object} TierRunOptions
 * @property {string} cwd
 * @property {AbortSignal} signal
 * @property {(line: string) => void} print
 */

const millisecondsPerMinute = 60_000

/**
 * Runs the tiers one after the other, each within its budget, and prints the sum of what they count as the last line.
 * A tier that fails does not keep the next from running. Minutes that a tier leaves are those of the next ones: all together keep within the sum, and no
 * machine is slow in the same way for all.
 * @param {TierPlan} plan
 * @param {TierRunOptions} options
 * @returns {Promise<number>} the exit code: 0 when every tier ran and nothing failed. A tier that needs something
 *   from outside which this machine lacks is announced, and does not change it.
 */
export async function runTiers(plan, options) {
  const notRun = await findTiersLackingSomething(plan)
  const results = []
  let spareMs = 0
  for (const tier of plan.tiers) {
    if (options.signal.aborted) break
    if (notRun.has(tier.name)) continue
    const budgetMs = tier.minutes * millisecondsPerMinute
    // The sum of the budgets does not hold this one.
    const isExtra = tier.needs.some((need) => plan.outside[need]?.inNoRegistry === true)
    const start = performance.now()
    results.push(await runTier(tier, budgetMs + (isExtra ? 0 : spareMs), options))
    if (!isExtra) spareMs = Math.max(0, spareMs + budgetMs - (performance.now() - start))
  }
  for (const reason of notRun.values()) options.print(`!!!!!!!! NOT RUN: ${reason} !!!!!!!!`)
  const sum = sumCounts(results)
  options.print(finalLine(sum))
  return sum.failed === 0 && !options.signal.aborted ? 0 : 1
}

/**
 * @param {TierPlan} plan
 * @returns {Promise<Map<string, string>>} a reason for each tier that can't run here
 */
async function findTiersLackingSomething({ tiers, outside }) {
  const reasons = new Map()
  for (const tier of tiers) {
    for (const need of tier.needs) {
      const { probe = 'false', why = '' } = outside[need] ?? {}
      if ((await run('bash', ['-c', probe])).code !== 0) reasons.set(tier.name, `${tier.name} needs ${need}: ${why}`)
    }
  }
  return reasons
}

/**
 * @param {Tier} tier
 * @param {number} milliseconds after which it is ended
 * @param {TierRunOptions} options
 * @returns {Promise<Counts>}
 */
async function runTier(tier, milliseconds, { cwd, signal, print }) {
  const minutes = Number((milliseconds / millisecondsPerMinute).toFixed(1))
  print(`======== ${tier.name}: ${tier.command} (at most ${minutes} min)`)
  const folder = mkdtempSync(join(tmpdir(), 'osm-ts-tier-'))
  const countsFile = join(folder, 'counts.json')
  const start = performance.now()
  try {
    const env = { ...process.env, OSM_COUNTS_FILE: countsFile }
    const outcome = await runWithBudget(tier.command, { milliseconds, cwd, env, signal })
    const counts = countOutcome(outcome, existsSync(countsFile) ? readFileSync(countsFile, 'utf8') : undefined)
    const remark = outcome.kind === 'overBudget' ? `, ended after its ${minutes} min were over` : ''
    print(`======== ${partLine(tier.name, counts)} in ${formatSeconds(performance.now() - start)}${remark}`)
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * What a tier counts: what it wrote down; as one test if it counts nothing itself. A tier over its budget and an exit
 * code that no failure explains are failures.
 * @param {import('./run-with-budget.mjs').Outcome} outcome
 * @param {string | undefined} countsText
 * @returns {Counts}
 */
export function countOutcome(outcome, countsText) {
  const succeeded = outcome.kind === 'exited' && outcome.code === 0
  if (countsText === undefined) return succeeded ? { ...noTests, passed: 1 } : { ...noTests, failed: 1 }
  const counts = parseCounts(JSON.parse(countsText))
  const isExplained = succeeded || (outcome.kind === 'exited' && counts.failed > 0)
  return isExplained ? counts : { ...counts, failed: counts.failed + 1 }
}
