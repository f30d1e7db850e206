import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** An input that is kept. */
export interface CorpusFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The inputs in a folder, in the order of their names; none if there is no folder. */
export function readCorpus(folder: string): readonly CorpusFile[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
}
