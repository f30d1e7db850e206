/** What .ci/run starts: runs the tiers of .ci/tiers.json, or those named. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTiers } from './ci/run-tiers.mjs'
import { parseTierPlan } from './ci/tiers.mjs'
import { root } from './lib/paths.mjs'

const plan = parseTierPlan(readFileSync(join(root, '.ci/tiers.json'), 'utf8'))
const names = process.argv.slice(2)
const unknown = names.find((name) => !plan.tiers.some((tier) => tier.name === name))
if (unknown !== undefined) throw new Error(`.ci/tiers.json has no tier "${unknown}"`)

const abort = new AbortController()
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(name, () => abort.abort())

process.exitCode = await runTiers(
  { ...plan, tiers: plan.tiers.filter((tier) => names.length === 0 || names.includes(tier.name)) },
  { cwd: root, signal: abort.signal, print: (line) => process.stdout.write(`${line}\n`) },
)
