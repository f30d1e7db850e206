import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'

import { bundlePrograms } from '../../../tools/lib/bundle.mjs'

const MAX_BYTES = 250_000

/** What Node reads before the first line of a program runs: the program, and what it imports without being asked to. */
function readAtStart(program: string): ReadonlyMap<string, string> {
  const read = new Map<string, string>()
  const queue = [program]
  for (const path of queue) {
    if (read.has(path)) continue
    const text = readFileSync(path, 'utf8')
    read.set(path, text)
    for (const [, imported = ''] of text.matchAll(/\b(?:from|import) ?"(\.\.?\/[^"]+\.mjs)"/g))
      queue.push(join(dirname(path), imported))
  }
  return read
}

describe('the start of osm', () => {
  let program: string

  beforeAll(async () => {
    ;[program = ''] = await bundlePrograms(['osm'])
  })

  it('reads little: what a command needs beyond its options is imported when the command runs', () => {
    const read = [...readAtStart(program)]
    expect(read.length).toBeGreaterThan(1)
    expect(read.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0)).toBeLessThan(MAX_BYTES)
  })
})
