import { describe, expect, it } from '@jest/globals'
import type { Problem } from '@osm-ts/core'

import { ProblemLines } from './problem-lines.js'

const problem = (field: string): Problem => ({
  code: 'OSM_SPEC_SCHEMA',
  severity: 'error',
  message: 'is missing',
  field,
  object: { kind: 'Service', namespace: 'shop', name: 'store' },
  origin: { kind: 'file', file: 'store.yaml', line: 4, column: 3 },
})
const first = 'store.yaml:4:3: error: Service shop/store: spec.a: is missing [OSM_SPEC_SCHEMA]'

describe('ProblemLines', () => {
  it('tells a problem in full when it appears, and not again while it stands', () => {
    const lines = new ProblemLines()
    expect(lines.next([problem('spec.a')])).toEqual([first])
    expect(lines.next([problem('spec.a')])).toEqual([])
  })

  it('tells that a problem was mended, and counts its returns', () => {
    const lines = new ProblemLines()
    lines.next([problem('spec.a')])
    expect(lines.next([])).toEqual([`mended: ${first}`])
    expect(lines.next([problem('spec.a')])).toEqual([`${first} (for the 2nd time)`])
  })

  it('counts what is too much to tell', () => {
    const many = Array.from({ length: 60 }, (_, index) => problem(`spec.ports[${index}]`))
    const told = new ProblemLines().next(many)
    expect(told).toHaveLength(51)
    expect(told.at(-1)).toBe('10 more problems appeared; osm standalone validate lists all')
  })

  it('forgets the oldest of many that were mended', () => {
    const lines = new ProblemLines()
    for (let n = 0; n < 1_100; n += 1) lines.next([problem(`spec.ports[${n}]`)])
    expect(lines.next([problem('spec.ports[0]')])[0]).not.toContain('time')
    expect(lines.next([problem('spec.ports[1099]')])[0]).toContain('for the 2nd time')
  })
})
