/** Prints the jobs of a hosted CI as outputs of a step, one `name=json` a line: the workflow makes its matrices from them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { hostedJobs } from './hosted-jobs.mjs'
import { parseTierPlan } from './tiers.mjs'

const plan = parseTierPlan(readFileSync(join(root, '.ci/tiers.json'), 'utf8'))
const settings = JSON.parse(readFileSync(join(root, 'tools/ci/hosted.json'), 'utf8'))
for (const [name, include] of Object.entries(hostedJobs(plan, settings)))
  process.stdout.write(`${name}=${JSON.stringify({ include })}\n`)
for (const [name, value] of Object.entries({
  node: settings.defaultNode,
  go: settings.go,
  kind: settings.kind.version,
}))
  process.stdout.write(`${name}=${value}\n`)
