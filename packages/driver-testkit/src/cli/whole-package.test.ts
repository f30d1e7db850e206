import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { NoDriver } from './load-driver.js'
import { copyWhole } from './whole-package.js'

describe('a package with all that it depends on', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-whole-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const put = (path: string, manifest: object): void => {
    mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, path, 'index.js'), path)
  }
  const link = (from: string, to: string): void => {
    mkdirSync(dirname(join(folder, from)), { recursive: true })
    symlinkSync(join(folder, to), join(folder, from))
  }
  const copied = (path: string): string => readFileSync(join(folder, 'copy', path, 'index.js'), 'utf8')

  it('has what it finds above it, and where links lead, in folders of its own', async () => {
    put('app/driver', { dependencies: { api: '1', '@some/tool': '1' } })
    put('app/node_modules/@some/tool', { dependencies: { api: '2' } })
    put('store/api-1/node_modules/api', { dependencies: { schema: '1' } })
    put('store/api-1/node_modules/schema', {})
    put('app/node_modules/@some/tool/node_modules/api', {})
    link('app/driver/node_modules/api', 'store/api-1/node_modules/api')
    await copyWhole(join(folder, 'app/driver'), join(folder, 'copy'))
    expect(copied('')).toBe('app/driver')
    expect(copied('node_modules/api')).toBe('store/api-1/node_modules/api')
    expect(copied('node_modules/api/node_modules/schema')).toBe('store/api-1/node_modules/schema')
    expect(copied('node_modules/@some/tool/node_modules/api')).toBe('app/node_modules/@some/tool/node_modules/api')
  })

  it('ends where packages depend on each other, and has one copy of what is found from above', async () => {
    put('driver', { dependencies: { one: '1', two: '1' } })
    put('node_modules/one', { dependencies: { two: '1' } })
    put('node_modules/two', { dependencies: { one: '1' } })
    await copyWhole(join(folder, 'driver'), join(folder, 'copy'))
    expect(copied('node_modules/two')).toBe('node_modules/two')
    expect(existsSync(join(folder, 'copy/node_modules/one/node_modules'))).toBe(false)
  })

  it('is refused if something is not installed, unless it need not be', async () => {
    put('driver', { optionalDependencies: { elsewhere: '1' } })
    await copyWhole(join(folder, 'driver'), join(folder, 'copy'))
    put('poor', { dependencies: { absent: '1' } })
    await expect(copyWhole(join(folder, 'poor'), join(folder, 'other'))).rejects.toThrow(
      new NoDriver('absent, which poor depends on, is not installed beside it'),
    )
  })
})
