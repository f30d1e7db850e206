import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { readPackageManifest } from './package-manifest.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-manifest-'))
})
afterEach(() => rm(folder, { recursive: true }))

const write = (manifest: unknown): void => writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))

describe('readPackageManifest', () => {
  it('finds the main module as an import of the package would', async () => {
    const mainOf = async (exports: unknown) => {
      write({ name: 'a', version: '1.0.0', main: 'old.cjs', exports })
      return (await readPackageManifest(folder)).main
    }
    await expect(mainOf('./a.js')).resolves.toBe('./a.js')
    await expect(mainOf({ '.': { types: './a.d.ts', import: './a.js' }, './b': './b.js' })).resolves.toBe('./a.js')
    await expect(mainOf({ require: './a.cjs', default: { node: './a.js' } })).resolves.toBe('./a.js')
    await expect(mainOf({ './b': './b.js' })).resolves.toBe('old.cjs')
  })

  it('reads name, version and the command, if there is one', async () => {
    write({ name: 'a', version: '1.0.0', main: 'x.js' })
    expect(await readPackageManifest(folder)).toEqual({ name: 'a', version: '1.0.0', main: 'x.js' })
    write({ name: 'a', version: '1.0.0', osmDriver: { command: ['python3', 'main.py', ''] } })
    expect(await readPackageManifest(folder)).toEqual({
      name: 'a',
      version: '1.0.0',
      main: 'index.js',
      command: ['python3', 'main.py', ''],
    })
  })

  it.each([
    ['no version', { name: 'a' }, 'must have a name and a version'],
    ['a list', [], 'must have a name and a version'],
    ['a command that is text', { name: 'a', version: '1', osmDriver: { command: 'python3 main.py' } }, 'a list of str'],
    ['an empty command', { name: 'a', version: '1', osmDriver: { command: [] } }, 'osmDriver.command'],
    ['a program without a name', { name: 'a', version: '1', osmDriver: { command: [''] } }, 'osmDriver.command'],
    ['a word that ends early', { name: 'a', version: '1', osmDriver: { command: ['x', 'y\0'] } }, 'osmDriver.command'],
    ['osmDriver without a command', { name: 'a', version: '1', osmDriver: {} }, 'osmDriver.command'],
    ['a stand-in that is not a path', { name: 'a', version: '1', osmDriver: { standIn: 1 } }, 'osmDriver.standIn'],
    ['osmDriver that is text', { name: 'a', version: '1', osmDriver: 'x' }, 'osmDriver.command'],
  ])('refuses %s with the file and the member', async (_what, manifest, words) => {
    write(manifest)
    await expect(readPackageManifest(folder)).rejects.toMatchObject({
      code: 'OSM_DRIVER_LOAD',
      message: expect.stringMatching(new RegExp(`^${folder}/package.json .*${words}`)) as unknown,
    })
  })

  it('refuses what cannot be read', async () => {
    await expect(readPackageManifest(folder)).rejects.toMatchObject({ code: 'OSM_DRIVER_LOAD' })
    writeFileSync(join(folder, 'package.json'), '{')
    await expect(readPackageManifest(folder)).rejects.toMatchObject({ code: 'OSM_DRIVER_LOAD' })
  })
})
