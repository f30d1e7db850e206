import fc from 'fast-check'

import type { FuzzTarget } from '../fuzz-target.js'
import { Coverage } from './coverage.js'
import { inputsOf } from './inputs.js'
import { runInput } from './run-input.js'

/** Inputs between two looks at what they have reached. */
const ROUND = 200

/** An input that breaks an invariant, as small as it could be made. */
export interface Finding {
  readonly input: Uint8Array
  readonly error: unknown
}

/** How a target is searched. */
export interface SearchOptions {
  /** Inputs to begin with. */
  readonly corpus: readonly Uint8Array[]
  /** Equal seeds give equal inputs where the coverage is equal as well. */
  readonly seed: number
  /** Ends the search before the next round. */
  readonly isDone: (inputs: number) => boolean
  /** Absent: every input counts alike. */
  readonly coverage?: Coverage
  /** See {@link RunOptions.slowness}. */
  readonly slowness?: number
  /** Told of each input before it is run. */
  readonly onInput?: (input: Uint8Array) => void
  /** Told of each input that reached something new. */
  readonly onNew?: (input: Uint8Array) => void
}

/** What a search came to. */
export interface SearchResult {
  readonly inputs: number
  readonly finding: Finding | undefined
}

/**
 * Runs a target on its corpus, then on changed inputs of it. Inputs that reach something new join the corpus. Ends with the first finding.
 *
 * fast-check makes the inputs and shrinks the one that fails.
 */
export async function search(target: FuzzTarget, options: SearchOptions): Promise<SearchResult> {
  const { seed, isDone, coverage = new Coverage(), slowness = 1, onInput, onNew } = options
  const corpus: Uint8Array[] = []
  let inputs = 0
  const run = async (input: Uint8Array): Promise<boolean> => {
    onInput?.(input)
    inputs += 1
    await runInput(target, input, { slowness })
    return coverage.takeNew()
  }
  for (const input of options.corpus) {
    try {
      await run(input)
    } catch (error) {
      return { inputs, finding: { input, error } }
    }
    corpus.push(input)
  }
  for (let round = 0; !isDone(inputs); round += 1) {
    const found: Uint8Array[] = []
    const property = fc.asyncProperty(inputsOf(target, corpus), async (input) => {
      if (await run(input)) found.push(Uint8Array.from(input))
    })
    const { failed, counterexample, errorInstance } = await fc.check(property, { seed: seed + round, numRuns: ROUND })
    if (failed) return { inputs, finding: { input: counterexample?.[0] ?? new Uint8Array(), error: errorInstance } }
    for (const input of found) onNew?.(input)
    corpus.push(...found)
  }
  return { inputs, finding: undefined }
}
