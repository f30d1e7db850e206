import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import { fuzzTargets } from '../targets.js'
import { findingsFolder } from './folders.js'
import { type TargetResult, watchWorker } from './watch-worker.js'

/** What was requested on the command line. */
export interface FuzzOptions {
  readonly targets: readonly string[]
  readonly seconds: string
  readonly seed: string
  readonly list: boolean
  readonly output: string
}

/** Searches targets one after the other. Returns the exit code. */
export async function runFuzz({ targets, seconds, seed, list, output }: FuzzOptions): Promise<number> {
  const known = fuzzTargets()
  const fault = faultOf(
    { targets, seconds, seed, output },
    known.map(({ name }) => name),
  )
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`)
    return 2
  }
  const chosen = targets.length === 0 ? known : known.filter(({ name }) => targets.includes(name))
  if (list) {
    const listed = chosen.map(({ name, form, about }) => ({ name, form, about }))
    process.stdout.write(
      output === 'json'
        ? `${JSON.stringify(listed, undefined, 2)}\n`
        : listed.map(({ name, about }) => `${name}\n  ${about}\n`).join(''),
    )
    return 0
  }
  process.stderr.write(`fuzz: ${chosen.length} targets for ${seconds} s each, seed ${seed}\n`)
  const results: TargetResult[] = []
  for (const [index, { name }] of chosen.entries()) {
    const result = await watchWorker(name, seconds, seed, (line) =>
      process.stderr.write(`fuzz: [${index + 1}/${chosen.length}] ${name}: ${line}\n`),
    )
    results.push(result)
    report(result)
  }
  const found = results.filter(({ finding }) => finding !== undefined)
  if (output === 'json') process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`)
  else {
    const inputs = results.reduce((sum, each) => sum + each.inputs, 0)
    process.stdout.write(`fuzz: ${inputs} inputs for ${results.length} targets, ${found.length} findings\n`)
  }
  return found.length === 0 ? 0 : 1
}

function faultOf(
  { targets, seconds, seed, output }: Omit<FuzzOptions, 'list'>,
  known: readonly string[],
): string | undefined {
  const unknown = targets.find((name) => !known.includes(name))
  if (unknown !== undefined) return `no target "${unknown}"; npm run fuzz -- --list names them`
  if (!/^[1-9]\d{0,5}$/.test(seconds)) return `--seconds: must be a whole number from 1 to 999999, got ${seconds}`
  if (!/^\d{1,9}$/.test(seed)) return `--seed: must be a whole number of at most 9 digits, got ${seed}`
  if (output !== 'text' && output !== 'json') return `--output: must be text or json, got ${output}`
  return undefined
}

function report({ target, finding }: TargetResult): void {
  if (finding === undefined) return
  mkdirSync(findingsFolder, { recursive: true })
  const input = Buffer.from(finding.input, 'base64')
  const file = join(findingsFolder, `${target}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`)
  writeFileSync(file, input)
  process.stderr.write(`fuzz: ${target}: FINDING in ${relative(process.cwd(), file)}\n${finding.message}\n`)
}
