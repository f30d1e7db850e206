import { describe, expect, it } from '@jest/globals'
import { fileURLToPath } from 'node:url'

import { sourceFiles, undocumented } from '../test/tsdoc.js'

const root = fileURLToPath(new URL('.', import.meta.url))

describe('documentation of the contract', () => {
  it('covers every export, every member, every unit and every error', () => {
    const files = sourceFiles(root)
    expect(files.length).toBeGreaterThan(20)
    expect(files.flatMap((path) => undocumented(path, root))).toEqual([])
  })

  it.each([
    ['an export', 'export const a = 1', 'x.ts:1 a'],
    ['an empty comment', '/** */\nexport interface A {}', 'x.ts:2 A'],
    ['a member', '/** A. */\nexport interface A { readonly b: string }', 'x.ts:2 A.b'],
    [
      'a nested member',
      '/** A. */\nexport interface A {\n  /** B. */\n  readonly b: { c: string }[]\n}',
      'x.ts:4 A.b.c',
    ],
    ['a method', '/** A. */\nexport class A { b(): void {} }', 'x.ts:2 A.b'],
    [
      'a variant',
      "/** A. */\nexport type A =\n  /** B. */\n  | { k: 'b'; v: string }\n  | { k: 'c'; v: string }",
      'x.ts:5 A variant',
    ],
    ['an error', '/** A. */\nexport function a(): void { throw new Error() }', 'x.ts:2 a lacks @throws'],
    [
      'a unit',
      '/** A. */\nexport interface A {\n  /** Time. */\n  timeoutMs: number\n}',
      'x.ts:4 A.timeoutMs lacks a unit',
    ],
    [
      'a unit in its name',
      '/** A. */\nexport interface A {\n  /** Seconds. */\n  timeout: number\n}',
      'x.ts:4 A.timeout lacks a unit in its name',
    ],
  ])('reports %s that lacks it', (_what, text, expected) => {
    expect(undocumented('/r/x.ts', '/r', text)).toEqual([expected])
  })

  it.each([
    ['discriminators', "/** A. */\nexport interface A { readonly kind: 'a' }"],
    ['variants without data', "/** A. */\nexport type A = { k: 'a' } | { k: 'b' }"],
    ['what is not exported', 'interface A { b: string }'],
    ['private members', '/** A. */\nexport class A { #b = 1; private c = 2 }'],
    ['errors of callbacks', '/** A. */\nexport function a(): () => void { return () => { throw new Error() } }'],
  ])('asks for none on %s', (_what, text) => {
    expect(undocumented('/r/x.ts', '/r', text)).toEqual([])
  })
})
