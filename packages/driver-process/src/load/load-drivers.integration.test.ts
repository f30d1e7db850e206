import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Logger } from '@osm-ts/driver-api'
import { injectorContext } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { bundleHostProgram } from '../../test/host-program.js'
import { TestSink } from '../../test/test-sink.js'
import type { DriverEntry } from './driver-list.js'
import { loadDrivers } from './load-drivers.js'
import { packageIntegrity } from './package-integrity.js'

let program: string
let temporary: string
const usualTemporary = process.env['TMPDIR']

beforeAll(async () => {
  program = await bundleHostProgram()
  // Of this file alone: what others leave there for a moment is not left by it.
  temporary = await mkdtemp(join(tmpdir(), 'load-'))
  process.env['TMPDIR'] = temporary
})
afterAll(async () => {
  if (usualTemporary === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = usualTemporary
  await Promise.all([dirname(program), temporary].map((folder) => rm(folder, { recursive: true })))
})

const packages = join(import.meta.dirname, '../../test/packages')

async function entry(name: string, folder: string, integrity?: string): Promise<DriverEntry> {
  const path = join(packages, folder)
  const digest = integrity ?? (await packageIntegrity(path))
  return { name, path, integrity: digest, heapMb: 64, residentMb: 400, failurePolicy: 'Fail' }
}

describe('loadDrivers', () => {
  const end = new AbortController()
  const logs: unknown[] = []
  const log = (fields: unknown) => void logs.push(fields)
  const logger: Logger = { debug: log, info: log, warn: log, error: log }
  const shared = { logger, random: Math.random, signal: end.signal, environment: process.env }

  it('loads what has its digest, and refuses each of the others for its own reason', async () => {
    const wrong = `sha512-${Buffer.alloc(64).toString('base64')}`
    const before = await readdir(tmpdir())
    const sink = new TestSink('Envoy')
    const loaded = await loadDrivers({
      ...shared,
      entries: [
        await entry('failing', 'failing'),
        await entry('forged', 'failing', wrong),
        await entry('envoy', 'failing'),
        await entry('later', 'later-contract'),
        await entry('broken', 'throws-at-load'),
      ],
      sink,
      program,
    })
    await loaded.settled
    expect([...sink.drivers.keys()]).toEqual(['failing'])
    expect([...sink.refused.values()].map(({ name, code, final }) => [name, code, final])).toEqual([
      ['forged', 'OSM_DRIVER_INTEGRITY', true],
      ['envoy', 'OSM_DRIVER_NAME', true],
      ['later', 'OSM_DRIVER_CONTRACT', true],
      ['broken', 'OSM_DRIVER_LOAD', true],
    ])
    expect(logs).toHaveLength(5)
    await expect(sink.drivers.get('failing')?.patch(injectorContext())).resolves.toBeDefined()

    // Others continue while one can't be loaded, and it is tried again.
    const hangs = new TestSink()
    const slow = await loadDrivers({
      ...shared,
      entries: [
        await entry('hangs', 'hangs-at-load'),
        await entry('exits', 'exits-at-load'),
        await entry('failing', 'failing'),
      ],
      sink: hangs,
      program,
      limits: { describeMs: 2_000 },
      retry: { firstMs: 50, lastMs: 100 },
    })
    await slow.settled
    // On a busy machine a driver that is well can also need more than the limit: then it is tried again, as the others are.
    const outcome = () => ({
      drivers: [...hangs.drivers.keys()],
      refused: [...hangs.refused.values()]
        .map(({ name, code, final }) => `${name} ${code} ${final ? 'for good' : 'for now'}`)
        .sort(),
    })
    const expected = {
      drivers: ['failing'],
      refused: ['exits OSM_DRIVER_EXITED for now', 'hangs OSM_DRIVER_TIMEOUT for now'],
    }
    await eventually(outcome, (found) => isDeepStrictEqual(found, expected))
    const attempts = () => logs.filter((fields) => (fields as { driver?: string }).driver === 'exits').length
    const known = attempts()
    while (attempts() < known + 2) await new Promise((resolve) => setTimeout(resolve, 20))

    end.abort()
    await Promise.all([loaded.stopped, slow.stopped])
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith('osm-drivers-') && !before.includes(name))
    expect(left).toEqual([])
  })
})
