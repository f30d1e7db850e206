import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { packTar, type TarEntry } from 'modern-tar'

/** A file of a report. */
export interface ReportFile {
  readonly path: string
  readonly text: string
}

/**
 * Packs the files into a folder named after the archive. Paths hold names of namespaces and pods, which together exceed the 100 bytes of the first form of tar: longer ones
 * are written in the form of POSIX.1-2001, which every tar of today reads.
 *
 * @param name - of the archive: a name that ends with `.tar` is not compressed
 */
export async function packReport(files: readonly ReportFile[], name: string): Promise<Uint8Array> {
  const folder = name.replace(/\.(?:tar\.gz|tgz|tar)$/, '')
  const entries = files.map(({ path, text }): TarEntry => {
    const body = Buffer.from(text)
    return { header: { name: `${folder}/${path}`, size: body.length, type: 'file', mode: 0o600 }, body }
  })
  const bytes = await packTar(entries)
  return name.endsWith('.tar') ? bytes : promisify(gzip)(bytes)
}
