import fc from 'fast-check'

import type { FuzzTarget } from '../fuzz-target.js'
import { mutatedBytes } from './mutate-bytes.js'
import { mutatedJson } from './mutate-json.js'

const DEFAULT_MAX_BYTES = 4096

/** Inputs of a target: changed bytes of the corpus, and changed documents where it holds some. */
export function inputsOf(target: FuzzTarget, corpus: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const { words = [], maxBytes = DEFAULT_MAX_BYTES, form } = target
  const known = corpus.length === 0 ? [new Uint8Array()] : corpus
  const bytes = mutatedBytes(known, words, maxBytes)
  const documents = form === 'json' ? mutatedJson(known, words, maxBytes) : undefined
  return documents === undefined
    ? bytes
    : fc.oneof({ weight: 1, arbitrary: bytes }, { weight: 4, arbitrary: documents })
}
