import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { keptGzip } from './kept-gzip.mjs'

const folder = temporaryFolders()

describe('keptGzip', () => {
  it('keeps what was large, and gives it again', () => {
    const cache = folder({})
    const content = Buffer.alloc(9e6, randomBytes(1000))
    expect(keptGzip(content, cache).equals(gzipSync(content))).toBe(true)
    const [kept = ''] = readdirSync(join(cache, 'layers'))
    // Something else in its place shows that it is read.
    writeFileSync(join(cache, 'layers', kept), gzipSync('kept'))
    expect(gunzipSync(keptGzip(content, cache)).toString()).toBe('kept')
  })

  it('keeps nothing of what is small', () => {
    const cache = folder({})
    expect(gunzipSync(keptGzip(Buffer.from('small'), cache)).toString()).toBe('small')
    expect(readdirSync(cache)).toEqual([])
  })
})
