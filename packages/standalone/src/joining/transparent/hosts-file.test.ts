import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { HostsFile } from './hosts-file.js'

const own = '127.0.0.1 localhost\n# comment\n192.0.2.9 books.shop\n'

describe('HostsFile', () => {
  let folder: string
  let path: string
  const text = (): string => readFileSync(path, 'utf8')

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-hosts-'))
    path = join(folder, 'hosts')
    writeFileSync(path, own)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('adds names after the lines of the machine', () => {
    new HostsFile(path).replace([{ address: '10.96.0.7', names: ['store.shop.svc', 'store.shop'] }])
    expect(text()).toBe(`${own}10.96.0.7 store.shop.svc store.shop # osm-machine\n`)
  })

  it('replaces the names of a run that was killed, by fewer or more', () => {
    const line = (n: number) => ({ address: `10.96.0.${n}`, names: [`store-${n}.shop`] })
    new HostsFile(path).replace([line(1), line(2), line(3)])
    new HostsFile(path).replace([line(4)])
    expect(text()).toBe(`${own}10.96.0.4 store-4.shop # osm-machine\n`)
    new HostsFile(path).replace([line(1), line(2), line(3)])
    expect(
      text()
        .split('\n')
        .filter((each) => each.endsWith('# osm-machine')),
    ).toHaveLength(3)
  })

  it('restores what was there, and keeps the same file', () => {
    const { ino } = statSync(path)
    const hosts = new HostsFile(path)
    hosts.replace([{ address: '10.96.0.7', names: ['store.shop'] }])
    hosts.restore()
    expect(text()).toBe(own)
    expect(statSync(path).ino).toBe(ino)
  })

  it('keeps what an administrator has added meanwhile', () => {
    const hosts = new HostsFile(path)
    hosts.replace([{ address: '10.96.0.7', names: ['store.shop'] }])
    writeFileSync(path, `${text()}192.0.2.1 later\n`)
    hosts.restore()
    expect(text()).toBe(`${own}192.0.2.1 later\n`)
  })

  it('begins a line of its own where the last one has no end', () => {
    writeFileSync(path, '127.0.0.1 localhost')
    new HostsFile(path).replace([{ address: '10.96.0.7', names: ['store.shop'] }])
    expect(text()).toBe('127.0.0.1 localhost\n10.96.0.7 store.shop # osm-machine\n')
  })

  it('writes nothing while the names are the same', () => {
    const hosts = new HostsFile(path)
    const lines = [{ address: '10.96.0.7', names: ['store.shop'] }]
    hosts.replace(lines)
    const { mtimeMs } = statSync(path)
    hosts.replace(lines)
    expect(statSync(path).mtimeMs).toBe(mtimeMs)
  })
})
