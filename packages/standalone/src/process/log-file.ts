import { closeSync, copyFileSync, fstatSync, openSync, readSync, truncateSync } from 'node:fs'

/** A log longer than this is moved aside, so that at most twice as much is kept. */
const MAX_BYTES = 8 * 1024 * 1024
const TAIL_BYTES = 4096
const NOT_FOR_PEOPLE = /^(\{|at |Node\.js v|\})/

/**
 * A file that a child writes to by itself, past this process. Written to in append mode, so that it can be cut while the child writes.
 */
export class LogFile {
  readonly path: string
  readonly fd: number

  constructor(path: string) {
    this.path = path
    this.fd = openSync(path, 'a+', 0o600)
  }

  /** Moves the content aside if there is too much of it. */
  trim(): void {
    if (fstatSync(this.fd).size <= MAX_BYTES) return
    copyFileSync(this.path, `${this.path}.1`)
    truncateSync(this.path)
  }

  /** The last line for people, rather one that tells of an error, or an empty text: records for programs are JSON, and where in a program it happened helps no one here. */
  lastLine(): string {
    const { size } = fstatSync(this.fd)
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES))
    const length = readSync(this.fd, buffer, 0, buffer.length, size - buffer.length)
    const lines = buffer.toString('utf8', 0, length).split('\n')
    const telling = lines.map((line) => line.trim()).filter((line) => line !== '' && !NOT_FOR_PEOPLE.test(line))
    return telling.findLast((line) => /error|critical/i.test(line)) ?? telling.at(-1) ?? ''
  }

  close(): void {
    closeSync(this.fd)
  }
}
