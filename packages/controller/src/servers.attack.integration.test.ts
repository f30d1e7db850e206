import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { bundleModule } from '../../../tools/lib/bundle.mjs'
import { type AttackFigures, attacks, bounds, type PeerName } from '../test/attack/attacks.js'

/** Less than a test may take, so that the reason is told. */
const MAX_MEASURE_MS = 280_000
const programs = ['measure-attacks-main', 'attacked-servers-main', 'attacker-main']

describe('the servers of a controller under attack', () => {
  let folder: string
  let figures: readonly AttackFigures[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-attack-'))
    const dist = join(folder, 'program/dist')
    for (const name of programs)
      await bundleModule(`packages/controller/test/attack/${name}.ts`, join(dist, `${name}.mjs`))
    // Where a bundle looks for the scripts of class pipy.
    await cp('packages/driver-pipy/codebase', join(folder, 'codebase'), { recursive: true })
    const { stdout } = await promisify(execFile)(process.execPath, [join(dist, 'measure-attacks-main.mjs')], {
      timeout: MAX_MEASURE_MS,
      killSignal: 'SIGKILL',
    })
    figures = JSON.parse(stdout) as readonly AttackFigures[]
  })

  afterAll(() => rm(folder, { recursive: true }))

  it.each(attacks.map(({ kind }) => kind))('answer their peers in time during %s, and stay small', (kind) => {
    const measured = figures.find(({ attack }) => attack.kind === kind)
    if (measured === undefined) throw new Error(`${kind} was not measured`)
    const { slowest, failures, connections, longestBlockMs, growthBytes } = measured
    expect(failures).toEqual([])
    expect(Object.entries(slowest).filter(([name, ms]) => ms >= bounds.slowest[name as PeerName])).toEqual([])
    expect(longestBlockMs).toBeLessThan(bounds.longestBlockMs)
    expect(growthBytes).toBeLessThan(bounds.growthBytes)
    expect(connections).toBeGreaterThan(100)
  })

  it('count connections that they have closed', () => {
    const flood = figures.find(({ attack }) => attack.kind === 'four bytes')
    expect(flood?.reporting).toEqual(expect.arrayContaining(['debug', 'health', 'webhook']))
  })
})
