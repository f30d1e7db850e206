import { createHash } from 'node:crypto'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { readCorpus } from '../harness/corpus.js'
import { Coverage } from '../harness/coverage.js'
import { search } from '../harness/search.js'
import { fuzzTargets } from '../targets.js'
import { cacheFolder, corpusFolder, currentInputFile } from './folders.js'
import type { WorkerMessage } from './worker-message.js'

/** Counting takes time. */
const SLOWNESS = 4
const PROGRESS_MS = 1000

/** Searches one target and tells of it on standard output. */
export async function runWorker(name: string, seconds: number, seed: number): Promise<void> {
  const target = fuzzTargets().find((each) => each.name === name)
  if (target === undefined) throw new Error(`no target ${name}`)
  const cache = cacheFolder(name)
  mkdirSync(cache, { recursive: true })
  const known = [...readCorpus(corpusFolder(name)), ...readCorpus(cache)].map(({ bytes }) => bytes)
  const counters = (globalThis as { readonly __coverage__?: ConstructorParameters<typeof Coverage>[0] }).__coverage__
  const coverage = new Coverage(counters)
  // What loading has reached is no merit of the input.
  coverage.takeNew()
  const current = openSync(currentInputFile(name), 'w')
  const end = performance.now() + seconds * 1000
  let corpus = known.length
  let told = 0
  let begun = 0
  const { inputs, finding } = await search(target, {
    corpus: known,
    seed,
    coverage,
    slowness: SLOWNESS,
    isDone: () => performance.now() >= end,
    onInput: (input) => {
      ftruncateSync(current)
      writeSync(current, input, 0, input.length, 0)
      begun += 1
      // Also while a finding is made smaller, which may take many inputs.
      if (performance.now() - told < PROGRESS_MS) return
      told = performance.now()
      tell({ kind: 'progress', inputs: begun, reached: coverage.reached, corpus })
    },
    onNew: (input) => {
      corpus += 1
      writeFileSync(join(cache, createHash('sha256').update(input).digest('hex').slice(0, 16)), input)
    },
  })
  closeSync(current)
  if (finding !== undefined) {
    const { error } = finding
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    tell({ kind: 'finding', inputs, input: Buffer.from(finding.input).toString('base64'), message })
  }
  tell({ kind: 'done', inputs, reached: coverage.reached, corpus })
}

function tell(message: WorkerMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
