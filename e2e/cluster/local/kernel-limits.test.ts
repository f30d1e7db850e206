import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { raiseKernelLimits } from './kernel-limits.js'

describe('raiseKernelLimits', () => {
  it('raises what is too low, and leaves what is high enough', () => {
    const folder = mkdtempSync(join(tmpdir(), 'osm-ts-limits-'))
    const file = (name: string): string => join(folder, 'fs/inotify', name)
    mkdirSync(join(folder, 'fs/inotify'), { recursive: true })
    writeFileSync(file('max_user_instances'), '128\n')
    writeFileSync(file('max_user_watches'), '9999999\n')
    raiseKernelLimits(folder)
    expect(readFileSync(file('max_user_instances'), 'utf8')).toBe('8192\n')
    expect(readFileSync(file('max_user_watches'), 'utf8')).toBe('9999999\n')
    rmSync(folder, { recursive: true })
  })
})
