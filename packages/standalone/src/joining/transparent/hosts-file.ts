import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'

/** Ends each line that a machine has added. */
const MARK = ' # osm-machine'

/** A line of names. */
export interface HostsLine {
  readonly address: string
  readonly names: readonly string[]
}

/**
 * The hosts file of a machine. Its own lines stay as they are, and come first: where both have a name, the machine's own holds.
 *
 * The file is changed in place, because it may be mounted by itself, as in containers. One write covers the old text, so that a program that reads
 * at that moment sees no line that is cut.
 */
export class HostsFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Puts these lines in place of those that were added before, also by a run that was killed. */
  replace(lines: readonly HostsLine[]): void {
    if (!existsSync(this.#path)) {
      if (lines.length === 0) return
      writeFileSync(this.#path, '', { mode: 0o644 })
    }
    const before = readFileSync(this.#path, 'utf8')
    const own = withoutMarked(before)
    const separator = own === '' || own.endsWith('\n') || lines.length === 0 ? '' : '\n'
    const added = lines.map(({ address, names }) => `${address} ${names.join(' ')}${MARK}\n`)
    const after = `${own}${separator}${added.join('')}`
    if (after !== before) overwrite(this.#path, after)
  }

  /** Removes all lines that were added. */
  restore(): void {
    this.replace([])
  }
}

function withoutMarked(text: string): string {
  if (!text.includes(MARK)) return text
  return text
    .split('\n')
    .filter((line) => !line.endsWith(MARK))
    .join('\n')
}

function overwrite(path: string, text: string): void {
  const file = openSync(path, 'r+')
  try {
    const bytes = Buffer.from(text)
    const { size } = fstatSync(file)
    writeSync(file, bytes.length < size ? Buffer.concat([bytes, Buffer.alloc(size - bytes.length, '\n')]) : bytes, 0)
    ftruncateSync(file, bytes.length)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
