import { Buffer } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'

import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

/** Stands for standard input among the paths that a user gives. */
export const STANDARD_INPUT = '-'
/** Stands for it in messages, where other objects have the path of their file. */
export const STANDARD_INPUT_NAME = 'standard input'
/** Largest input that is read, in bytes, of standard input and of each file: as much as a mesh folder takes. */
const MAX_FILE_BYTES = 10 * 1024 * 1024

const FILES_HINT = 'give a YAML or JSON file, a folder of them, or - for standard input'

/** Where inputs of a command are read. */
export type InputContext = Pick<CliContext, 'cwd' | 'stdin'>

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
export async function openInputFiles(paths: readonly string[], context: InputContext): Promise<InputFiles> {
  const { cwd } = context
  if (!paths.includes(STANDARD_INPUT)) return { paths, cwd, standardInput: '' }
  const others = paths.filter((path) => path !== STANDARD_INPUT)
  return { paths: [STANDARD_INPUT, ...others], cwd, standardInput: await readInput(STANDARD_INPUT, context) }
}

/**
 * Reads a file, or standard input for {@link STANDARD_INPUT}.
 *
 * @param hint - what the user should give instead
 * @throws OsmError `OSM_CLI_INPUT` if it cannot be read or is larger than {@link MAX_FILE_BYTES}
 */
export async function readInput(path: string, { cwd, stdin }: InputContext, hint = FILES_HINT): Promise<string> {
  if (path === STANDARD_INPUT) return readAll(stdin(), STANDARD_INPUT_NAME, hint)
  return readInputFile(path, cwd, hint)
}

/** Reads a file as {@link readInput} does. */
export async function readInputFile(path: string, cwd: string, hint = FILES_HINT): Promise<string> {
  return readAll(createReadStream(resolve(cwd, path)), path, hint)
}

async function readAll(input: AsyncIterable<string | Buffer>, name: string, hint: string): Promise<string> {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  try {
    for await (const piece of input) {
      const bytes = Buffer.from(piece as Buffer)
      sizeBytes += bytes.length
      if (sizeBytes > MAX_FILE_BYTES) break
      pieces.push(bytes)
    }
  } catch (error) {
    throw unreadable(name, errorMessage(error), hint)
  }
  if (sizeBytes > MAX_FILE_BYTES)
    throw unreadable(name, `has more than ${MAX_FILE_BYTES} bytes, which is the limit`, hint)
  return Buffer.concat(pieces).toString('utf8')
}

/** The error about an input that cannot be read. */
export function unreadable(path: string, reason: string, hint = FILES_HINT): Error {
  return cliError('OSM_CLI_INPUT', `${path} cannot be read: ${reason}`, hint)
}
