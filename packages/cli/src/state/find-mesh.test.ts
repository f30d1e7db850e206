import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { findMesh, STATE_FOLDER } from './find-mesh.js'

describe('findMesh', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'osm-find-'))
  })
  afterEach(() => {
    rmSync(root, { recursive: true })
  })

  const content = { pid: 4711, folder: '/mesh', mode: 'explicit', controllerUrl: 'http://127.0.0.1:1' }
  function record(folder: string, value: unknown = content): string {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'mesh.json'), typeof value === 'string' ? value : JSON.stringify(value))
    return folder
  }
  const alive = (): boolean => true

  it('finds the nearest state folder, upwards', () => {
    const outer = record(join(root, STATE_FOLDER))
    const deep = join(root, 'a/b')
    mkdirSync(deep, { recursive: true })
    expect(findMesh({ state: undefined, cwd: deep, isAlive: alive })).toEqual({
      stateFolder: outer,
      folder: '/mesh',
      mode: 'explicit',
      controllerUrl: 'http://127.0.0.1:1',
    })
    const inner = record(join(root, 'a', STATE_FOLDER))
    expect(findMesh({ state: undefined, cwd: deep, isAlive: alive }).stateFolder).toBe(inner)
  })

  it('takes the folder that was named, and no other', () => {
    record(join(root, STATE_FOLDER))
    const named = record(join(root, 'elsewhere'))
    expect(findMesh({ state: 'elsewhere', cwd: root, isAlive: alive }).stateFolder).toBe(named)
    expect(() => findMesh({ state: 'missing', cwd: root, isAlive: alive })).toThrow(
      expect.objectContaining({ code: 'OSM_CLI_MESH_MISSING' }),
    )
  })

  it('refuses what no mesh wrote, and a mesh that has ended', () => {
    for (const value of ['', '{', '[]', { ...content, pid: '1' }, { ...content, mode: 'other' }]) {
      record(join(root, STATE_FOLDER), value)
      expect(() => findMesh({ state: undefined, cwd: root, isAlive: alive })).toThrow('is not a valid mesh.json')
    }
    record(join(root, STATE_FOLDER))
    expect(() => findMesh({ state: undefined, cwd: root, isAlive: () => false })).toThrow('process 4711, has ended')
  })

  it('says how to start one where there is none', () => {
    expect(() => findMesh({ state: undefined, cwd: root, isAlive: alive })).toThrow(
      expect.objectContaining({ code: 'OSM_CLI_MESH_MISSING' }),
    )
  })
})
