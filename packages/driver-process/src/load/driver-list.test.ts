import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { listedDrivers, readDriverList } from './driver-list.js'

const integrity = `sha512-${Buffer.alloc(64, 7).toString('base64')}`
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-list-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function read(text: string) {
  const file = join(folder, 'drivers.json')
  await writeFile(file, text)
  return readDriverList(file)
}

describe('readDriverList', () => {
  it('reads packages, with the memory they have by default, and sockets', async () => {
    const drivers = [
      { name: 'acme', path: '/drivers/acme', integrity },
      { name: 'small', path: '/drivers/small', integrity, heapMb: 32, residentMb: 128 },
      { name: 'other', socket: '/run/other/driver.sock', failurePolicy: 'Ignore' },
    ]
    await expect(read(JSON.stringify({ drivers }))).resolves.toEqual([
      { ...drivers[0], failurePolicy: 'Fail', heapMb: 256, residentMb: 512 },
      { ...drivers[1], failurePolicy: 'Fail' },
      drivers[2],
    ])
  })

  const good = { name: 'acme', path: '/drivers/acme', integrity }
  it.each([
    [{ ...good, name: 'Acme' }, 'drivers[0].name must be a sidecar class'],
    [{ ...good, path: 'drivers/acme' }, 'drivers[0].path must be an absolute path'],
    [{ ...good, integrity: 'sha256-abc' }, 'drivers[0].integrity must be sha512-'],
    [{ name: 'acme', path: '/drivers/acme' }, 'drivers[0].integrity must be sha512-'],
    [{ ...good, socket: '/run/a.sock' }, 'drivers[0] must have either path or socket'],
    [{ name: 'acme' }, 'drivers[0] must have either path or socket'],
    [{ name: 'acme', socket: '/run/a.sock', integrity }, 'drivers[0].integrity is for packages'],
    [{ ...good, heapMb: 1 }, 'drivers[0].heapMb must be a number of MiB from 16'],
    [{ ...good, failurePolicy: 'ignore' }, 'drivers[0].failurePolicy must be Fail or Ignore'],
    [{ ...good, image: 'x' }, 'drivers[0].image is not known'],
    ['acme', 'drivers[0] must be an object'],
  ])('refuses %j', async (entry, words) => {
    await expect(read(JSON.stringify({ drivers: [entry] }))).rejects.toMatchObject({
      code: 'OSM_DRIVER_LIST',
      message: expect.stringContaining(words) as unknown,
    })
  })

  it('refuses a file that is not a list, and a repeated name', async () => {
    for (const [text, words] of [
      ['drivers:', 'cannot be read as JSON'],
      ['[]', 'must have a list of drivers'],
      [JSON.stringify({ drivers: [good, good] }), 'names driver acme twice'],
    ] as const)
      await expect(read(text)).rejects.toMatchObject({
        code: 'OSM_DRIVER_LIST',
        message: expect.stringContaining(words) as unknown,
      })
    await expect(readDriverList(join(folder, 'missing.json'))).rejects.toMatchObject({ code: 'OSM_DRIVER_LIST' })
  })
})

describe('listedDrivers', () => {
  const list = (name: string) => JSON.stringify({ drivers: [{ name, socket: '/run/driver.sock' }] })

  it('takes the list or its file from the flag, else from the variable, and is empty without either', async () => {
    const file = join(folder, 'drivers.json')
    await writeFile(file, list('filed'))
    const names = async (flag: string, variable?: string) =>
      (await listedDrivers(flag, { OSM_DRIVER_PACKAGES: variable })).map(({ name }) => name)
    await expect(names('')).resolves.toEqual([])
    await expect(names('', file)).resolves.toEqual(['filed'])
    await expect(names('', list('told'))).resolves.toEqual(['told'])
    await expect(names(`\n ${list('flagged')}`, file)).resolves.toEqual(['flagged'])
    await expect(names('', '{"drivers": [{}]}')).rejects.toThrow(
      'the list of drivers of OSM_DRIVER_PACKAGES drivers[0].name',
    )
  })
})
