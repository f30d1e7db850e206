import { createHash } from 'node:crypto'

/** Path of the script that a worker runs. Later versions of Pipy insist on it. */
const ENTRY = '/main.js'

/** A file of a codebase with what a worker compares it by. */
export interface CodebaseFile {
  readonly content: Buffer
  /** Hash of the content. */
  readonly etag: string
}

/** The scripts of one release, fixed: anyone who downloads them all from one codebase has files that belong together. */
export class Codebase {
  readonly #files: ReadonlyMap<string, CodebaseFile>
  /** Hash over all files; what a worker reports as the version that it has loaded. */
  readonly etag: string
  /** Paths, the entry first. */
  readonly manifest: string
  /** `path#etag`, one a line. */
  readonly etags: string

  /**
   * @param contents - by path, each with a slash first
   * @throws TypeError if there is no entry
   */
  constructor(contents: ReadonlyMap<string, string>) {
    if (!contents.has(ENTRY)) throw new TypeError(`a codebase needs ${ENTRY}, which a worker runs first`)
    const others = [...contents.keys()].filter((path) => path !== ENTRY).sort()
    const paths = [ENTRY, ...others]
    this.#files = new Map(
      paths.map((path) => {
        const content = Buffer.from(contents.get(path) ?? '')
        return [path, { content, etag: hash(content) }]
      }),
    )
    this.manifest = `${paths.join('\n')}\n`
    this.etags = [...this.#files].map(([path, { etag }]) => `${path}#${etag}\n`).join('')
    this.etag = hash(Buffer.from(this.etags))
  }

  /** Paths, the entry first. */
  get paths(): readonly string[] {
    return [...this.#files.keys()]
  }

  file(path: string): CodebaseFile | undefined {
    return this.#files.get(path)
  }
}

function hash(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 32)
}
