import { describe, expect, it } from '@jest/globals'

import { findUnusedMembers } from './lib/unused-members.mjs'

const find = (text: string, allowed: Readonly<Record<string, string>> = {}, path = 'packages/core/src/a.ts') =>
  findUnusedMembers([{ path, text }], allowed)
const fault = (name: string, line = 1) => `packages/core/src/a.ts:${String(line)}: nothing outside tests uses ${name}`

describe('unused members of classes', () => {
  it.each([
    ['a method', 'class A { run() {} }', 'A.run'],
    ['a property', 'class A { readonly size = 1 }', 'A.size'],
    ['a getter', 'class A { get size() { return 1 } }', 'A.size'],
  ])('are found: %s', (_, text, name) => {
    expect(find(text)).toEqual([fault(name)])
  })

  it.each([
    ['called', 'new A().run()'],
    ['called by this', 'function f(this: A) { this.run() }'],
    ['destructured', 'const { run } = new A()'],
    ['destructured under another name', 'const { run: go } = new A()'],
    ['named in a type', "type B = Pick<A, 'run'>"],
  ])('are not those that are %s', (_, use) => {
    expect(find(`class A { run() {} }\n${use}`)).toEqual([])
  })

  it('are none of what a class does not show, or others call', () => {
    expect(find('class A { #run() {}; private go() {}; toString() { return "" } }')).toEqual([])
    expect(find("import { Duplex } from 'node:stream'\nclass A extends Duplex { _read() {} }")).toEqual([])
    expect(find("import type { B } from './b.js'\nclass A implements B { run() {} }")).toEqual([fault('A.run', 2)])
  })

  it('are not made up for by an object that has a member of the name', () => {
    expect(find('class A { run() {} }\nconst b = { run: 1 }')).toEqual([fault('A.run')])
  })

  it('may be listed for tests, while they are there and unused', () => {
    const allowed = { 'A.run': 'that it runs' }
    expect(find('class A { run() {} }', allowed)).toEqual([])
    const stale = ['tools/lib/unused-members.mjs: A.run is used, or gone; remove it from the list']
    expect(find('class A { run() {} }\nnew A().run()', allowed)).toEqual(stale)
    expect(find('', allowed)).toEqual(stale)
  })

  it('may be in the package for tests', () => {
    expect(find('class A { run() {} }', {}, 'packages/driver-testkit/src/a.ts')).toEqual([])
  })
})
