import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { root } from './paths.mjs'

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] added to the environment of this process
 * @property {string | Uint8Array} [input]
 * @property {(line: string) => void} [onErrorLine] told of each line on standard error when it comes
 */
/**
 * @typedef {object} RunResult
 * @property {number} code exit code; 128 + n when signal n ended it, 127 when it could not be started
 * @property {Buffer} stdout
 * @property {string} stderr
 */

/**
 * Runs a program to its end with both streams captured. A failure is a result, not an exception.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export async function run(program, args, { cwd = root, env, input, onErrorLine } = {}) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  // A child that ends before it has read everything breaks the pipe; its exit code tells more than that.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const errors = onErrorLine === undefined ? buffer(child.stderr).then(String) : linesOf(child.stderr, onErrorLine)
  const [code, stdout, stderr] = await Promise.all([exitCode(child), buffer(child.stdout), errors])
  return { code: code.value, stdout, stderr: code.error ?? stderr }
}

/**
 * @param {import('node:stream').Readable} stream
 * @param {(line: string) => void} onLine
 * @returns {Promise<string>} all of it
 */
async function linesOf(stream, onLine) {
  let text = ''
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    text += `${line}\n`
    onLine(line)
  }
  return text
}

/**
 * Runs a program on the terminal of this process, or with its standard output sent to standard error.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, stdoutToStderr?: boolean }} [options]
 * @returns {Promise<number>} the exit code
 */
export async function runAttached(program, args, { cwd = root, env, stdoutToStderr = false } = {}) {
  const stdio = /** @type {const} */ (['inherit', stdoutToStderr ? 2 : 'inherit', 'inherit'])
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: [...stdio] })
  // A terminal sends Ctrl-C to the whole group. Staying until the child has ended lets it clean up and keeps its exit code.
  const forward = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
  const ignore = () => undefined
  process.on('SIGTERM', forward).on('SIGINT', ignore)
  try {
    const { value, error } = await exitCode(child)
    if (error) process.stderr.write(`${error}\n`)
    return value
  } finally {
    process.off('SIGTERM', forward).off('SIGINT', ignore)
  }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ value: number, error?: string }>}
 */
function exitCode(child) {
  return new Promise((settle) => {
    child.once('error', (error) => settle({ value: 127, error: error.message }))
    child.once('close', (code, signal) => settle({ value: code ?? 128 + signalNumber(signal) }))
  })
}

/** @param {NodeJS.Signals | null} signal */
function signalNumber(signal) {
  return signal === null ? 0 : constants.signals[signal]
}
