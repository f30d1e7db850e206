import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { readCorpus } from './harness/corpus.js'
import { runInput } from './harness/run-input.js'
import { search } from './harness/search.js'
import { fuzzTargets } from './targets.js'

const SEED = Number(process.env.OSM_PROPERTY_SEED ?? 1_000_003)
const INPUTS = 200

describe.each(fuzzTargets().map((target) => [target.name, target] as const))('fuzz target %s', (name, target) => {
  const corpus = readCorpus(join(import.meta.dirname, 'corpus', name))

  it('holds for each input of its corpus', async () => {
    expect(corpus.length).toBeGreaterThan(0)
    for (const { bytes } of corpus) await runInput(target, bytes)
  })

  it(`holds for ${INPUTS} changed inputs (OSM_PROPERTY_SEED=${SEED})`, async () => {
    const { finding } = await search(target, {
      corpus: corpus.map(({ bytes }) => bytes),
      seed: SEED,
      isDone: (inputs) => inputs >= INPUTS,
    })
    const shown = finding && { input: Buffer.from(finding.input).toString('latin1'), error: finding.error }
    expect(shown).toBeUndefined()
  })
})
