import { connect } from 'node:net'

const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/**
 * Says one command to a socket of HAProxy, and gives its answer without the line breaks around it.
 * @param {string} path
 * @param {string} command without the line break at its end
 * @returns {Promise<string>}
 */
export function ask(path, command) {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    /** @type {Buffer[]} */
    const chunks = []
    let length = 0
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('HAProxy does not answer')))
    socket.once('error', reject)
    socket.once('connect', () => socket.write(`${command}\n`))
    socket.on('data', (/** @type {Buffer} */ chunk) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_ANSWER_BYTES) socket.destroy(new Error('HAProxy answers without end'))
    })
    socket.once('end', () => {
      socket.destroy()
      resolve(Buffer.concat(chunks).toString('utf8').trim())
    })
  })
}

/**
 * The worker that a socket leads to, and the layout that it runs; undefined while there is none.
 * @param {string} path
 */
export async function describeWorker(path) {
  try {
    const answer = await ask(path, 'show info')
    const pid = /^Pid: ([0-9]+)$/m.exec(answer)?.[1]
    return pid === undefined ? undefined : { pid: Number(pid), layout: /^description: (.*)$/m.exec(answer)?.[1] ?? '' }
  } catch {
    // It is about to start, or has ended: both show elsewhere.
    return undefined
  }
}
