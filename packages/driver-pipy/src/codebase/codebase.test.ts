import { describe, expect, it } from '@jest/globals'

import { Codebase } from './codebase.js'
import { readCodebase } from './read-codebase.js'

const of = (files: Readonly<Record<string, string>>) => new Codebase(new Map(Object.entries(files)))

describe('a codebase', () => {
  it('lists its entry first, then the rest in one order', () => {
    const codebase = of({ '/z.js': '1', '/a.js': '2', '/main.js': '3' })
    expect(codebase.manifest).toBe('/main.js\n/a.js\n/z.js\n')
    expect(codebase.etag).toBe(of({ '/main.js': '3', '/a.js': '2', '/z.js': '1' }).etag)
  })

  it('has ETags of content alone', () => {
    const etags = [of({ '/main.js': '1' }), of({ '/main.js': '2' }), of({ '/main.js': '1', '/a.js': '' })].map(
      ({ etag }) => etag,
    )
    expect(new Set(etags).size).toBe(3)
    expect(of({ '/main.js': '1' }).file('/main.js')?.etag).toBe(
      of({ '/main.js': '1', '/b.js': '2' }).file('/main.js')?.etag,
    )
  })

  it('needs an entry', () => {
    expect(() => of({ '/other.js': '' })).toThrow('/main.js')
  })
})

describe('the scripts of this package', () => {
  it('hold an entry and no tests', async () => {
    const { paths } = await readCodebase()
    expect(paths[0]).toBe('/main.js')
    expect(paths.filter((path) => path.includes('test'))).toEqual([])
  })
})
