import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { checkProjectReferences, typeScriptProjects } from './workspace.mjs'

const folder = temporaryFolders()

function workspace(references: readonly string[]): string {
  const projects = ['e2e', 'packages/a', 'packages/b', 'tools'].map((name) => [`${name}/tsconfig.json`, '{}'] as const)
  const list = JSON.stringify({ files: [], references: references.map((path) => ({ path })) })
  const base = folder({ ...Object.fromEntries(projects), 'tsconfig.json': list })
  mkdirSync(join(base, 'packages/without-types'))
  return base
}

const all = ['./e2e', './packages/a', './packages/b', './tools']

describe('checkProjectReferences', () => {
  it('accepts the complete list', () => {
    expect(checkProjectReferences({ fix: false, base: workspace(all) })).toEqual([])
  })

  it('finds a project that the list forgets, and one that is gone', () => {
    expect(checkProjectReferences({ fix: false, base: workspace(all.slice(1)) })).toHaveLength(1)
    expect(checkProjectReferences({ fix: false, base: workspace([...all, './packages/gone']) })).toHaveLength(1)
  })

  it('writes the list on request and keeps the rest of the file', () => {
    const base = workspace([])
    expect(checkProjectReferences({ fix: true, base })).toEqual([])
    expect(checkProjectReferences({ fix: false, base })).toEqual([])
    expect(JSON.parse(readFileSync(join(base, 'tsconfig.json'), 'utf8'))).toHaveProperty('files', [])
  })
})

describe('the references of a package', () => {
  const project = (
    dependencies: readonly string[],
    references: readonly string[],
  ): Readonly<Record<string, string>> => ({
    'tsconfig.json': JSON.stringify({ references: [{ path: './packages/a' }, { path: './packages/b' }] }),
    'packages/a/tsconfig.json': '{}',
    'packages/a/package.json': JSON.stringify({
      dependencies: {
        ...Object.fromEntries(dependencies.map((name) => [`@x/${name}`, 'workspace:*'])),
        yaml: 'catalog:',
      },
    }),
    'packages/a/tsconfig.build.json': JSON.stringify({
      references: references.map((name) => ({ path: `../${name}/tsconfig.build.json` })),
    }),
    'packages/b/tsconfig.json': '{}',
    'packages/b/package.json': '{}',
    'packages/b/tsconfig.build.json': '{}',
  })
  const check = (files: Readonly<Record<string, string>>): readonly string[] =>
    checkProjectReferences({ fix: false, base: folder(files) })

  it('have to name the packages that it depends on', () => {
    expect(check(project(['b'], []))).toEqual([
      'packages/a/tsconfig.build.json does not refer to ../b/tsconfig.build.json, on which its package.json depends',
    ])
    expect(check(project(['b'], ['b']))).toEqual([])
  })

  it('leave out what is not compiled', () => {
    expect(check(project(['generated'], []))).toEqual([])
  })
})

it('finds the projects of this workspace', () => {
  expect(typeScriptProjects()).toEqual(expect.arrayContaining(['packages/core', 'packages/driver-api', 'tools']))
})
