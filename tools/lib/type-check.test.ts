import { expect, it } from '@jest/globals'
import { projectsWithErrors } from './type-check.mjs'

const output = `packages/core/src/a.ts(1,2): error TS2322: Type 'string' is not assignable to type 'number'.
packages/core/src/b.ts(3,4): error TS2304: Cannot find name 'x'.
  The file packages/cli/src/c.ts(1,1) is only mentioned.
tools/d.mjs(5,6): error TS7006: Parameter 'x' implicitly has an 'any' type.
`

it('finds each project with an error once', () => {
  expect(projectsWithErrors(output, ['packages/cli', 'packages/core', 'tools'])).toEqual(['packages/core', 'tools'])
})

it('does not confuse projects whose names begin alike', () => {
  expect(projectsWithErrors(output, ['packages/cor', 'packages/core-extra'])).toEqual([])
})
