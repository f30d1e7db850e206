import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { findExecutable } from './find-executable.js'
import { LogFile } from './log-file.js'

const folder = temporaryFolders()

describe('LogFile', () => {
  it.each([
    ['[critical] no such cluster\n{"status":200}\n', '[critical] no such cluster'],
    ['Error: broken\n    at main (x.js:1)\n\nNode.js v20.20.2\n', 'Error: broken'],
    ['first\nsecond\n\n', 'second'],
    ['', ''],
  ])('finds the line for people in %j', (text, line) => {
    const log = new LogFile(join(folder(), 'x.log'))
    writeFileSync(log.path, text)
    expect(log.lastLine()).toBe(line)
    log.close()
  })

  it('moves aside what has grown too long, while it is written to', () => {
    const log = new LogFile(join(folder(), 'x.log'))
    appendFileSync(log.fd, Buffer.alloc(9 * 1024 * 1024, 'x'))
    log.trim()
    appendFileSync(log.fd, 'more')
    expect(readFileSync(log.path, 'utf8')).toBe('more')
    expect(statSync(`${log.path}.1`).size).toBe(9 * 1024 * 1024)
    log.trim()
    expect(readFileSync(log.path, 'utf8')).toBe('more')
    log.close()
  })
})

describe('findExecutable', () => {
  it('looks for names on the path and for paths from the working directory', () => {
    const bin = folder({ tool: '#!/bin/sh\n', data: '' })
    const { mode } = statSync(join(bin, 'tool'))
    expect(mode & 0o111).toBe(0)
    expect(findExecutable('tool', '/', bin)).toBeUndefined()
    expect(findExecutable('sh', '/', undefined)).toMatch(/\/sh$/)
    expect(findExecutable('sh', '/', `${bin}:/bin`)).toBe('/bin/sh')
    expect(findExecutable('./sh', '/bin', bin)).toBe('/bin/sh')
    expect(findExecutable('../bin', '/usr/lib', bin)).toBeUndefined()
    expect(findExecutable('no-such-program', '/', '/bin')).toBeUndefined()
  })
})
