import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { installHash, packagesAreCurrent } from './packages.mjs'

const folder = temporaryFolders()
const checkout = () => folder({ 'pnpm-lock.yaml': 'lock', 'pnpm-workspace.yaml': 'settings' })

describe('packagesAreCurrent', () => {
  it('is false before the first install', () => {
    expect(packagesAreCurrent(checkout())).toBe(false)
  })

  it('is true after an install, until the lock file or the settings change', () => {
    const here = checkout()
    mkdirSync(join(here, 'node_modules'))
    const install = () => writeFileSync(join(here, 'node_modules/.osm-ts-install'), installHash(here))
    for (const changed of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) {
      install()
      expect(packagesAreCurrent(here)).toBe(true)
      writeFileSync(join(here, changed), 'another')
      expect(packagesAreCurrent(here)).toBe(false)
    }
  })
})
