import { describe, expect, it } from '@jest/globals'

import { runChildProcess } from './child-process.js'

/** Runs a script to its end, and gives what is told of it. */
async function reasonOf(script: string): Promise<string> {
  const { ended } = runChildProcess({
    title: 'driver toy',
    command: [process.execPath, '-e', script],
    folder: import.meta.dirname,
    environment: process.env,
    residentMb: 1_024,
    residentIntervalMs: 60_000,
  })
  const { message } = await ended
  return message
}

describe('the last words of a process', () => {
  const key = 'Q'.repeat(64)

  it.each([
    ['in one write', `process.stderr.write('key ${key}\\n')`],
    [
      'in two writes',
      `process.stderr.write('key ${key.slice(32)}'); setTimeout(() => process.stderr.write('${key.slice(32)}\\n'), 200)`,
    ],
    ['where a long line is cut', `process.stderr.write('${'word '.repeat(75)}${key}\\n')`],
    ['without the end of the line', `process.stdout.write('key ${key}')`],
  ])('hold no part of a key that it printed %s', async (_how, script) => {
    const reason = await reasonOf(`${script}; setTimeout(() => process.exit(3), 400)`)
    expect(reason).toMatch(/^the process of driver toy ended with exit code 3; its last words: (?:key|word)/)
    expect(reason).not.toContain('QQ')
  })

  it('are the last ten lines of both streams', async () => {
    const reason = await reasonOf(
      `for (let n = 1; n <= 15; n += 1) console.log('line ' + n); setTimeout(() => console.error('failed\\u001B[2J'), 200)`,
    )
    expect(reason).toContain('words: line 7 | line 8')
    expect(reason).toMatch(/line 15 \| failed·\[2J$/)
  })
})
