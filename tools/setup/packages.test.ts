import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { installHash, packagesAreCurrent } from './packages.mjs'

function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'osm-ts-checkout-'))
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) writeFileSync(join(folder, name), name)
  return folder
}

describe('packagesAreCurrent', () => {
  it('is false before the first install', () => {
    expect(packagesAreCurrent(checkout())).toBe(false)
  })

  it('is true after an install, until the lock file or the settings change', () => {
    const folder = checkout()
    mkdirSync(join(folder, 'node_modules'))
    const install = () => writeFileSync(join(folder, 'node_modules/.osm-ts-install'), installHash(folder))
    for (const changed of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) {
      install()
      expect(packagesAreCurrent(folder)).toBe(true)
      writeFileSync(join(folder, changed), 'another')
      expect(packagesAreCurrent(folder)).toBe(false)
    }
  })
})
