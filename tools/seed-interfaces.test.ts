import { describe, expect, it } from '@jest/globals'
import { checkSeedInterfaces, findSeedFaults } from './lib/seed-interfaces.mjs'

const expected = { MeshSpec: ['ListServices'] }
const files: Readonly<Record<string, string>> = {
  'packages/core/src/spec.ts': 'class Spec {\n  listServices(): void {}\n}\n',
  'packages/core/src/page.ts': 'spec.listServices()\n',
  'packages/core/src/comment.ts': '// spec.listServices()\n',
  'packages/core/src/page.test.ts': 'spec.listServices()\n',
}
const faultsOf = (used: string, implemented = 'packages/core/src/spec.ts', method = 'ListServices') =>
  findSeedFaults(
    `## MeshSpec\n\n| method | here | implemented in | used in | note |\n| --- | --- | --- | --- | --- |\n| \`${method}\` | \`listServices\` | [x](../../${implemented}) | [x](../../${used}) | |\n`,
    expected,
    (path) => files[path],
  )

describe('the page of the original interfaces', () => {
  it('is in order as it stands', () => {
    expect(checkSeedInterfaces()).toEqual([])
  })

  it('accepts a method that is declared in one file and used in another', () => {
    expect(faultsOf('packages/core/src/page.ts')).toEqual([])
  })

  it.each([
    ['a test', 'packages/core/src/page.test.ts', 'is no source of a package for listServices'],
    ['a comment', 'packages/core/src/comment.ts', 'does not use listServices'],
    [
      'a file that does not exist',
      'packages/core/src/gone.ts',
      'there is no packages/core/src/gone.ts for listServices',
    ],
  ])('refuses %s as the place of use', (_, used, fault) => {
    expect(faultsOf(used).join()).toContain(fault)
  })

  it('refuses a file that does not declare the method', () => {
    expect(faultsOf('packages/core/src/page.ts', 'packages/core/src/page.ts').join()).toContain(
      'declares no listServices',
    )
  })

  it('names methods that have no row, and rows that are of no method', () => {
    expect(faultsOf('packages/core/src/page.ts', 'packages/core/src/spec.ts', 'ListOthers')).toEqual([
      'docs/reference/seed-interfaces.md:5: MeshSpec of the documents has no method `ListOthers`',
      'docs/reference/seed-interfaces.md: MeshSpec lacks ListServices',
    ])
  })
})
