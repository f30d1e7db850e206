import { Buffer } from 'node:buffer'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

/** Stands for standard input among the paths that a user gives. */
export const STANDARD_INPUT = '-'
/** Stands for it in messages, where other objects have the path of their file. */
export const STANDARD_INPUT_NAME = 'standard input'
/** Largest file that is read, in bytes: as much as a mesh folder takes. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024

/** Files and folders that a user gives. */
export interface InputFiles {
  /** {@link STANDARD_INPUT} at most once. */
  readonly paths: readonly string[]
  /** What relative paths start from. */
  readonly cwd: string
  /** Text of standard input; empty if it is not one of the paths. */
  readonly standardInput: string
}

/**
 * Reads standard input if it is one of the paths. Several readers of the files can then use it.
 *
 * @throws OsmError `OSM_CLI_INPUT` if standard input is too large
 */
export async function openInputFiles(
  paths: readonly string[],
  { cwd, stdin }: Pick<CliContext, 'cwd' | 'stdin'>,
): Promise<InputFiles> {
  if (!paths.includes(STANDARD_INPUT)) return { paths, cwd, standardInput: '' }
  const others = paths.filter((path) => path !== STANDARD_INPUT)
  return { paths: [STANDARD_INPUT, ...others], cwd, standardInput: await readAll(stdin()) }
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    const bytes = Buffer.from(piece as string | Buffer)
    size += bytes.length
    if (size > MAX_FILE_BYTES)
      throw unreadable(STANDARD_INPUT_NAME, `has more than ${MAX_FILE_BYTES} bytes, which is the limit`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The error about an input that cannot be read. */
export function unreadable(path: string, reason: string): Error {
  return cliError(
    'OSM_CLI_INPUT',
    `${path} cannot be read: ${reason}`,
    'give a YAML or JSON file, a folder of them, or - for standard input',
  )
}
