import { PassThrough } from 'node:stream'
import { once } from 'node:events'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { readLines } from './read-lines.js'

async function linesOf(chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const stream = new PassThrough()
  const lines: string[] = []
  readLines(stream, (line) => lines.push(line))
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  await once(stream, 'close')
  return lines
}

describe('readLines', () => {
  it('gives the same lines however the bytes are cut, in the middle of a character too', async () => {
    const text = fc.array(
      fc.string({ unit: 'grapheme' }).map((line) => line.replace(/[\r\n]/g, '')),
      { maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (lines, size) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        )
        expect(await linesOf(chunks)).toEqual(lines)
      }),
    )
  })

  it('gives the last line without a line end, and takes carriage returns away', async () => {
    expect(await linesOf([Buffer.from('a\r\nb')])).toEqual(['a', 'b'])
    expect(await linesOf([])).toEqual([])
  })

  it('cuts a line that would fill the memory', async () => {
    const lines = await linesOf([Buffer.alloc(150_000, 'x')])
    expect(lines.map((line) => line.length)).toEqual([65_536, 65_536, 18_928])
  })
})
