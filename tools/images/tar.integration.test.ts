import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { writeTar, type TarEntry } from './tar.mjs'

const file = (path: string, text: string): TarEntry => ({ path, type: 'file', mode: 0o640, content: Buffer.from(text) })

function list(archive: Buffer): readonly string[] {
  const { stdout, stderr } = spawnSync('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '-f', '-'], {
    input: archive,
  })
  expect(stderr.toString()).toBe('')
  return stdout
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' '))
}

describe('writeTar', () => {
  it('writes what tar reads: sorted, owned by root, from 1970, with the folders that entries lie in', () => {
    const entries: TarEntry[] = [
      { path: 'usr/bin/b', type: 'link', mode: 0o777, target: 'a' },
      file('usr/bin/a', 'hello'),
      { path: 'tmp', type: 'folder', mode: 0o1777 },
    ]
    expect(list(writeTar(entries))).toEqual([
      'drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/bin/',
      '-rw-r----- 0/0 5 1970-01-01 00:00 usr/bin/a',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 usr/bin/b -> a',
    ])
  })

  it('does not depend on the order of entries', () => {
    const entries = [file('b', '2'), file('a', '1'), file('c/d', '3')]
    expect(writeTar(entries).equals(writeTar([...entries].reverse()))).toBe(true)
  })

  it.each([511, 512, 513])('pads a file of %d bytes', (size) => {
    const archive = writeTar([file('a', 'x'.repeat(size)), file('b', 'end')])
    const { stdout } = spawnSync('tar', ['--extract', '--to-stdout', '-f', '-', 'b'], { input: archive })
    expect(stdout.toString()).toBe('end')
    expect(archive.length % 512).toBe(0)
  })

  it('has room for paths of more than 100 characters, and refuses longer ones', () => {
    const folder = `${'f'.repeat(90)}/${'g'.repeat(60)}`
    expect(list(writeTar([file(`${folder}/name`, '')])).at(-1)).toContain(`${folder}/name`)
    expect(() => writeTar([file('x'.repeat(101), '')])).toThrow('too long for an archive')
  })

  it.each(['', '/etc/passwd', 'a/', 'a/../b'])('refuses the path "%s"', (path) => {
    expect(() => writeTar([file(path, '')])).toThrow('is no path for an archive')
  })

  it('refuses two entries of one name', () => {
    expect(() => writeTar([file('a', '1'), file('a', '2')])).toThrow('two entries')
  })
})
