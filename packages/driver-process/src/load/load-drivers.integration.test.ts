import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Logger } from '@osm-ts/driver-api'
import { injectorContext } from '@osm-ts/driver-testkit'

import { bundleHostProgram } from '../../test/host-program.js'
import type { DriverEntry } from './driver-list.js'
import { loadDrivers } from './load-drivers.js'
import { packageIntegrity } from './package-integrity.js'

let program: string

beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => rm(dirname(program), { recursive: true }))

const packages = join(import.meta.dirname, '../../test/packages')

async function entry(name: string, folder: string, integrity?: string): Promise<DriverEntry> {
  const path = join(packages, folder)
  return { name, path, integrity: integrity ?? (await packageIntegrity(path)), heapMb: 64, residentMb: 400 }
}

describe('loadDrivers', () => {
  it('loads what has its digest, and refuses each of the others for its own reason', async () => {
    const end = new AbortController()
    const logs: unknown[] = []
    const log = (fields: unknown) => void logs.push(fields)
    const logger: Logger = { debug: log, info: log, warn: log, error: log }
    const wrong = `sha512-${Buffer.alloc(64).toString('base64')}`
    const before = await readdir(tmpdir())
    const loaded = await loadDrivers({
      entries: [
        await entry('moody', 'moody'),
        await entry('forged', 'moody', wrong),
        await entry('envoy', 'moody'),
        await entry('later', 'later-contract'),
        await entry('broken', 'throws-at-load'),
      ],
      taken: ['Envoy'],
      program,
      environment: process.env,
      logger,
      random: Math.random,
      signal: end.signal,
    })
    expect(loaded.drivers.map(({ name }) => name)).toEqual(['moody'])
    expect(loaded.refused.map(({ name, code }) => [name, code])).toEqual([
      ['forged', 'OSM_DRIVER_INTEGRITY'],
      ['envoy', 'OSM_DRIVER_NAME'],
      ['later', 'OSM_DRIVER_CONTRACT'],
      ['broken', 'OSM_DRIVER_LOAD'],
    ])
    expect(logs).toHaveLength(4)
    await expect(loaded.drivers[0]?.patch(injectorContext())).resolves.toBeDefined()
    end.abort()
    await loaded.stopped
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith('osm-drivers-') && !before.includes(name))
    expect(left).toEqual([])
  })
})
