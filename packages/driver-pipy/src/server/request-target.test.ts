import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { codebaseName, codebasePath, readTarget } from './request-target.js'

const proxy = { uuid: 'c0ffee00-0000-4000-8000-000000000001', identity: 'books.v2.shop' }
const folder = codebasePath(proxy)

describe('a path of the repo server', () => {
  it.each([
    ['', { kind: 'manifest' }],
    ['_etags', { kind: 'etags' }],
    ['main.js', { kind: 'file', path: '/main.js' }],
    ['lib/deep/a-b_c.js', { kind: 'file', path: '/lib/deep/a-b_c.js' }],
  ])('names what is in a codebase: %s', (rest, target) => {
    expect(readTarget(`${folder}${rest}`)).toEqual({ codebase: codebaseName(proxy), ...target })
  })

  it('or the configuration, with a query', () => {
    const target = readTarget('/config?rev=a&error=b%20c')
    expect(target?.kind === 'config' && [...target.query]).toEqual([
      ['rev', 'a'],
      ['error', 'b c'],
    ])
    expect(readTarget('/config/')).toBeUndefined()
    expect(readTarget('/plugins')).toEqual({ kind: 'plugins' })
    expect(readTarget('/plugins?x=1')).toBeUndefined()
  })

  it('never leads out of the codebase that it names, whatever it is', () => {
    const hostile = fc.stringMatching(/^[a-z./\\%2fFeE0:?#@ \0-]{0,40}$/)
    fc.assert(
      fc.property(hostile, (rest) => {
        const target = readTarget(`${folder}${rest}`)
        if (target === undefined || !('codebase' in target)) return
        expect(target.codebase).toBe(codebaseName(proxy))
        if (target.kind !== 'file') return
        expect(new URL(`http://x${folder.slice(0, -1)}${target.path}`).pathname).toBe(`${folder}${rest}`)
        expect(target.path.split('/').slice(1)).not.toContain('..')
      }),
    )
  })
})
