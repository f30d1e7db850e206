import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SetUpError } from '../lib/set-up-error.mjs'

const startMilliseconds = 60_000
const pollMilliseconds = 100

/**
 * Starts a server on the loopback address and waits until it answers.
 * @param {string} what for messages, such as `The image registry`
 * @param {{ file: string, args: readonly string[], cwd: string, url: string }} program url: answered with success once it runs
 * @returns {Promise<() => Promise<void>>} stops it
 */
export async function startLocalServer(what, { file, args, cwd, url }) {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output = `${output}${text}`.slice(-4_000)
    })
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    child.once('error', (error) => {
      output = error.message
      resolve()
    })
    child.once('close', () => resolve())
  })
  const stop = async () => {
    child.kill()
    await ended
  }
  const deadline = performance.now() + startMilliseconds
  while (!(await answers(url))) {
    if (child.exitCode === null && child.pid !== undefined && performance.now() < deadline)
      await sleep(pollMilliseconds)
    else {
      await stop()
      throw new SetUpError(`${what} does not start.`, output)
    }
  }
  return stop
}

/** @param {string} url */
async function answers(url) {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
