import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { writeFiles } from '../agent/files.mjs'
import { mapCommands } from '../agent/maps.mjs'
import { commandsFor, seat } from '../agent/slots.mjs'
import type { Slot } from './translate/document.js'

const places = (...ports: readonly (number | undefined)[]): Slot[] =>
  ports.map((port, index) => ({
    section: 'up:a',
    server: `s${index + 1}`,
    ...(port !== undefined && { endpoint: { address: '10.0.0.1', port, weight: 1 } }),
  }))

describe('shares', () => {
  it('are told where they changed, in maps that may', () => {
    const maps = (one: number, live: boolean) => [
      { name: 'shares.map', content: `to:a:0 ${one}\nto:a:1 100\n`, live },
      { name: 'hosts.map', content: `a up:${one}\n` },
    ]
    expect(mapCommands(maps(40, true), maps(40, true))).toEqual([])
    expect(mapCommands(maps(40, true), maps(60, true)).map(({ command }) => command)).toEqual([
      'set map shares.map to:a:0 60',
    ])
    expect(mapCommands(maps(40, false), maps(60, false))).toEqual([])
  })
})

describe('places of endpoints', () => {
  it('are kept by those that stay, and given to newcomers', () => {
    const running = places(1, 2, 3, undefined)
    const seated = seat(running, places(3, 4, undefined, undefined))
    expect(seated).toEqual(places(4, undefined, 3, undefined))
    expect(commandsFor(running, seated).map(({ command }) => command)).toEqual([
      'set server up:a/s1 addr 10.0.0.1 port 4',
      'set server up:a/s2 state maint',
    ])
  })

  it('are opened for newcomers, and follow weights', () => {
    const heavier = places(1, 2).map((slot) => ({ ...slot, endpoint: { ...slot.endpoint!, weight: 7 } }))
    expect(
      commandsFor(places(1, undefined), seat(places(1, undefined), heavier)).map(({ command }) => command),
    ).toEqual([
      'set server up:a/s1 weight 7',
      'set server up:a/s2 addr 10.0.0.1 port 2',
      'set server up:a/s2 weight 7',
      'set server up:a/s2 state ready',
    ])
    expect(commandsFor(heavier, seat(heavier, heavier))).toEqual([])
  })
})

describe('files of the agent', () => {
  const document = { revision: '', layout: '', access: [], withdrawalMs: 0, slots: [], config: 'c', certificate: 'k' }

  it('are read by no one else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-'))
    await writeFiles(folder, { ...document, files: [{ name: 'roots.pem', content: 'r' }] })
    expect((await stat(join(folder, 'service.pem'))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(folder, 'haproxy.cfg'), 'utf8')).toBe('c')
    for (const name of ['../x', '/x', '.x', 'a/b', ''])
      await expect(writeFiles(folder, { ...document, files: [{ name, content: '' }] })).rejects.toThrow(
        'not a name of a file',
      )
    await rm(folder, { recursive: true })
  })
})
