import { describe, expect, it } from '@jest/globals'

import { type FuzzTarget, isRecord, jsonOf, textOf } from '../fuzz-target.js'
import { Coverage } from './coverage.js'
import { runInput } from './run-input.js'
import { search } from './search.js'

const target = (run: FuzzTarget['run'], more: Partial<FuzzTarget> = {}): FuzzTarget => ({
  name: 'sample',
  about: 'A parser with a fault.',
  form: 'text',
  run,
  ...more,
})
const untilInputs = (most: number) => (inputs: number) => inputs >= most

describe('the search', () => {
  it('finds an input that breaks an invariant, and makes it small', async () => {
    const faulty = target((input) => {
      if (textOf(input).includes('..')) throw new Error('leaves the folder')
    })
    const corpus = [Buffer.from('/books/one')]
    const { finding } = await search(faulty, { corpus, seed: 1, isDone: untilInputs(2000) })
    expect(finding?.error).toEqual(new Error('leaves the folder'))
    expect(finding?.input.length).toBeLessThan(20)
  })

  it('changes documents as documents: a member named __proto__ is found behind a check of the form', async () => {
    const faulty = target(
      (input) => {
        const value = jsonOf(input)
        if (isRecord(value) && isRecord(value['labels']) && Object.hasOwn(value['labels'], '__proto__'))
          throw new Error('a key that is inherited')
      },
      { form: 'json' },
    )
    const corpus = [Buffer.from('{"kind":"Pod","labels":{"app":"books"}}')]
    const { finding } = await search(faulty, { corpus, seed: 1, isDone: untilInputs(4000) })
    expect(finding?.error).toEqual(new Error('a key that is inherited'))
  })

  it('keeps what reaches something new, and goes on from it', async () => {
    const branches = [0, 0, 0, 0]
    const counters = { 'parser.ts': { f: { 0: 0 }, s: {}, b: { 0: branches } } }
    const staged = target((input) => {
      counters['parser.ts'].f[0] += 1
      const depth = ['0', '09', '09A', '09AZ'].filter((stage) => textOf(input).startsWith(stage)).length
      for (let level = 0; level < depth; level += 1) branches[level] = (branches[level] ?? 0) + 1
      if (depth === 4) throw new Error('deep')
    })
    const kept: string[] = []
    const { finding } = await search(staged, {
      corpus: [Buffer.from('')],
      seed: 1,
      coverage: new Coverage(counters),
      isDone: untilInputs(60_000),
      onNew: (input) => kept.push(textOf(input)),
    })
    expect(finding?.error).toEqual(new Error('deep'))
    expect(kept).toContainEqual(expect.stringMatching(/^09/))
  })

  it('gives the same inputs for the same seed', async () => {
    const inputsOf = async (seed: number): Promise<readonly string[]> => {
      const seen: string[] = []
      const isDone = untilInputs(200)
      await search(target(textOf), {
        corpus: [Buffer.from('abc')],
        seed,
        isDone,
        onInput: (input) => seen.push(textOf(input)),
      })
      return seen
    }
    expect(await inputsOf(7)).toEqual(await inputsOf(7))
    expect(await inputsOf(7)).not.toEqual(await inputsOf(8))
  })
})

describe('an input', () => {
  const input = Buffer.from('sample')

  it.each<[string, FuzzTarget, string]>([
    ['an outcome that is another one each time', target(() => Math.random()), 'gives another outcome the second time'],
    ['an outcome without bounds', target(() => 'x'.repeat(1_000_000)), 'makes 1000004 characters of 6 bytes'],
    ['a secret in the outcome', target(() => ({ error: 'no hunter2' }), { secret: 'hunter2' }), 'repeats a secret'],
    ['a changed input', target((bytes) => bytes.fill(0).length), 'changes its input'],
    [
      'a changed prototype',
      target((bytes) => {
        if (bytes.length > 0) Object.defineProperty(Object.prototype, 'polluted', { value: 1, configurable: true })
      }),
      'changes a prototype',
    ],
    [
      'too much processor time',
      target(
        () => {
          const end = performance.now() + 20
          while (performance.now() < end) Math.sqrt(2)
        },
        { budgetMs: 1 },
      ),
      'of processor time for 6 bytes',
    ],
  ])('is refused for %s', async (_what, faulty, message) => {
    try {
      await expect(runInput(faulty, Buffer.from(input))).rejects.toThrow(message)
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polluted')
    }
  })

  it('is accepted where all invariants hold, also with a promise', async () => {
    await expect(
      runInput(
        target((bytes) => Promise.resolve(bytes.length)),
        input,
      ),
    ).resolves.toBeUndefined()
  })
})
