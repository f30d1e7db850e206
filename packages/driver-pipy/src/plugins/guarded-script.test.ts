import { runInNewContext } from 'node:vm'

import { describe, expect, it } from '@jest/globals'

import { guardedScript } from './guarded-script.js'

type Script = Readonly<Record<string, (...args: unknown[]) => unknown>>

function guarded(script: string): string {
  const result = guardedScript(script)
  if ('fault' in result) throw new Error(result.fault)
  return result.text
}

/** Runs a guarded script as a plain one, which is the same once nothing is exported. */
function load(script: string, steps = 1_000): Script {
  const names = [...script.matchAll(/export (?:var|function) (\w+)/g)].map(([, name]) => name ?? '')
  const text = guarded(script).replaceAll('export ', '')
  const loaded = runInNewContext(`${text}\n;({ ${[...names, '__osmBudget'].join(', ')} })`, {}) as Script
  loaded['__osmBudget']?.(steps)
  return loaded
}

describe('guarded scripts', () => {
  it('do what they did before', () => {
    const { request } = load(`
      var seen = { a: [1, 2, ...[3]] }
      export function request(about, config) {
        var sum = 0
        for (var i = 0; i < 3; i++) sum = sum + seen.a[i]
        for (var j = 0; j < 2; j++) { if (j === 1) break; sum = sum + 10 }
        try { throw new Error('x') } catch (e) { sum = sum + 100 }
        switch (about) { case 'a': sum = sum + 1000; break; default: sum = 0 }
        return [1, 2].map((x) => x * 2).map(x => ({ x })).map((each) => { return each.x }).length + sum
      }`)
    expect(request?.('a')).toBe(1118)
  })

  it.each([
    ['a loop', 'export function request() { for (var i = 0; true; i++) {} }'],
    ['a loop without braces', 'export function request() { for (var i = 0; true; i++) ; }'],
    [
      'functions that call each other',
      'export function request() { return other() }\nfunction other() { return request() }',
    ],
    ['an arrow function that calls itself twice', 'var f = (n) => f(n) + f(n); export var request = () => f(1)'],
    [
      'callbacks in callbacks',
      "export function request() { var a = 'x'.repeat(100).split(''); a.forEach(() => a.forEach(() => a.forEach(() => 1))) }",
    ],
  ])('end %s', (_what, script) => {
    expect(() => load(script)['request']?.()).toThrow('takes too many steps')
  })

  it('end a script that does not come to an end while it is loaded', () => {
    expect(() => load('for (var i = 0; true; i++) {}')).toThrow('takes too many steps')
  })

  it('keep the numbers of lines', () => {
    expect(guarded('var a = 1\nexport var request = (x) => { return a }\n').split('\n')).toHaveLength(3)
  })

  it.each([
    ['export function request( {', 'is not a script: Unexpected token (1:26)'],
    ["import { state } from './state.js'", 'line 1: Pipy does not read ImportDeclaration'],
    ["export { state } from './state.js'", 'line 1: scripts import nothing'],
    ["export * from './state.js'", 'line 1: Pipy does not read ExportAllDeclaration'],
    ["var a = 1\nimport('./state.js')", 'line 2: Pipy does not read ImportExpression'],
    ["pipy.import('/state.js')", 'line 1: pipy is not for scripts'],
    ["var p = pipy; p['imp' + 'ort']('/state.js')", 'line 1: pipy is not for scripts'],
    ['while (true) {}', 'line 1: Pipy does not read WhileStatement'],
    ['do {} while (true)', 'line 1: Pipy does not read DoWhileStatement'],
    ['for (var a of []) {}', 'line 1: Pipy does not read ForOfStatement'],
    ['for (;;) {}', 'line 1: Pipy reads loops with all three parts only'],
    ['let a = 1', 'line 1: Pipy knows no let; use var'],
    ['class A {}', 'line 1: Pipy does not read ClassDeclaration'],
    ['export async function request() {}', 'line 1: Pipy knows no async functions and no generators'],
    ['var $mine = 1', 'line 1: names that begin with $ are variables of Pipy'],
    ['__osmBudget(1000000)', 'line 1: names that begin with __osm are taken'],
    ['var a = /(a+)+b/', 'line 1: Pipy knows no such literals; for regular expressions use new RegExp'],
    ['var a = { get b() { return 1 } }', 'line 1: Pipy knows no methods and no accessors in objects'],
    ['x'.repeat(5_000_000), 'has 5000000 bytes; at most 1000000 go out'],
  ])('are not made of %.40s', (script, fault) => {
    const result = guardedScript(script)
    expect('fault' in result && result.fault).toBe(fault)
  })
})
