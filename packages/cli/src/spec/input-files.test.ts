import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'
import { readInput } from './input-files.js'

const LIMIT_BYTES = 10 * 1024 * 1024

/** An input without an end, which counts how much of it was read. */
function endlessInput(): { readonly stdin: () => NodeJS.ReadStream; readonly readBytes: () => number } {
  const piece = Buffer.alloc(64 * 1024, ' ')
  let readBytes = 0
  const input = new Readable({
    read() {
      readBytes += piece.length
      this.push(piece)
    },
  })
  // Commands read it and ask whether it is a terminal, and that is all here.
  const stdin = Object.assign(input, { isTTY: false }) as unknown as NodeJS.ReadStream
  return { stdin: () => stdin, readBytes: () => readBytes }
}

describe('an input of a command', () => {
  let cwd: string
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'osm-input-'))
    writeFileSync(join(cwd, 'full.yaml'), 'ä'.repeat(LIMIT_BYTES / 2))
    writeFileSync(join(cwd, 'larger.yaml'), 'ä'.repeat(LIMIT_BYTES / 2) + 'x')
    writeFileSync(join(cwd, 'token'), 'osm1.id.secret.pin\n')
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  it('is read whole up to the limit, whether a file or standard input', async () => {
    const pieces = [Buffer.from('na'), Buffer.from([0xc3]), Buffer.from([0xaf]), Buffer.from('ve')]
    const stdin = (): NodeJS.ReadStream => Readable.from(pieces) as unknown as NodeJS.ReadStream // nothing but its pieces is read
    const { context } = fakeContext({ cwd, stdin })
    expect(await readInput('-', context)).toBe('naïve')
    expect((await readInput('full.yaml', context)).length).toBe(LIMIT_BYTES / 2)
  })

  it('is refused with its limit if a file is larger', async () => {
    await expect(readInput('larger.yaml', fakeContext({ cwd }).context)).rejects.toMatchObject({
      code: 'OSM_CLI_INPUT',
      message: `larger.yaml cannot be read: has more than ${LIMIT_BYTES} bytes, which is the limit`,
    })
  })

  it.each([
    ['osm inject', ['inject', '-f', '-']],
    ['osm machine join', ['machine', 'join', 'https://192.0.2.1:9097', '--token-file', '-', '--state', 'state']],
    ['osm analyze', ['analyze', '-']],
    ['osm diff', ['diff', '-f', '-']],
  ])('is not read beyond the limit if standard input does not end: %s', async (_command, args) => {
    const { stdin, readBytes } = endlessInput()
    const { context, stderr } = fakeContext({ cwd, stdin })
    expect(await runCli(args, context)).toBe(1)
    expect(stderr.text).toContain(`standard input cannot be read: has more than ${LIMIT_BYTES} bytes`)
    expect(readBytes()).toBeLessThan(LIMIT_BYTES + 1024 * 1024)
  })

  it('is refused by osm inject if objects and settings are both to come from standard input', async () => {
    const { context, stderr } = fakeContext({ cwd })
    expect(await runCli(['inject', '-f', '-', '-c', '-'], context)).not.toBe(0)
    expect(stderr.text).toContain('standard input can be read only once')
  })

  it('is refused with the reason if it is missing', async () => {
    const { context } = fakeContext({ cwd })
    await expect(readInput('missing.pem', context, 'print it')).rejects.toMatchObject({
      code: 'OSM_CLI_INPUT',
      message: expect.stringContaining('missing.pem cannot be read: ENOENT'),
      details: { hint: 'print it' },
    })
  })
})
