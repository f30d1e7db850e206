import { PassThrough, Writable } from 'node:stream'

import type { CliContext } from '../src/cli-context.js'

/** A stream that keeps what is written to it. */
export class KeptOutput extends Writable {
  text = ''
  readonly isTTY: boolean
  readonly columns = 100
  readonly rows = 40

  constructor(isTTY = false) {
    super({ decodeStrings: false })
    this.isTTY = isTTY
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk)
    done()
  }

  /** As a command sees it. */
  stream(): NodeJS.WriteStream {
    // Commands write to it and request its size, and that is all here.
    return this as unknown as NodeJS.WriteStream
  }
}

/** What somebody types, line by line, before the input ends; at a terminal or not. */
export function typedInput(lines: readonly string[], isTTY = false): NodeJS.ReadStream {
  const input = new PassThrough()
  input.end(lines.map((line) => `${line}\n`).join(''))
  // Commands read it and ask whether it is a terminal, and that is all here.
  return Object.assign(input, { isTTY }) as unknown as NodeJS.ReadStream
}

/** A process for a command that runs in a test. */
export function fakeContext(more: Partial<CliContext> = {}): {
  readonly context: CliContext
  readonly stdout: KeptOutput
  readonly stderr: KeptOutput
} {
  const stdout = new KeptOutput()
  const stderr = new KeptOutput()
  const context: CliContext = {
    stdin: () => typedInput([]),
    stdout: stdout.stream(),
    stderr: stderr.stream(),
    cwd: '/nowhere',
    variables: {},
    signal: new AbortController().signal,
    programFolder: '/nowhere',
    nodeProgram: process.execPath,
    version: '0.0.0',
    ...more,
  }
  return { context, stdout, stderr }
}
