import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { root } from './lib/paths.mjs'

interface Manifest {
  readonly name: string
  readonly description?: string
  readonly license?: string
  readonly keywords?: readonly string[]
  readonly files?: readonly string[]
}

const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
const packages = folders
  .filter((folder) => existsSync(join(folder, 'package.json')))
  .map((folder) => ({
    folder,
    manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest,
  }))

describe.each(packages.map(({ folder, manifest }) => ({ name: manifest.name, folder, manifest })))(
  'the package $name',
  ({ folder, manifest }) => {
    it('tells a registry what it is, under which license, and what it ships', () => {
      expect(manifest).toMatchObject({
        description: expect.stringMatching(/\S/),
        license: 'Apache-2.0',
        keywords: expect.arrayContaining(['service-mesh']),
        files: expect.arrayContaining([expect.any(String)]),
      })
    })

    it('has a README that begins with its name', () => {
      const [title] = readFileSync(join(folder, 'README.md'), 'utf8').split('\n')
      expect(title).toBe(`# ${manifest.name}`)
    })
  },
)
