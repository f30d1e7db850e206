import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

// Sends reviews from its standard input, as many at a time as it is told, until it is ended. Its own process: its work must not count. Tells its
// parent how many were answered with 200.

const REPORT_MS = 200
/** Milliseconds from a refusal to the next request. */
const REFUSED_MS = 20

/** @type {{ readonly port: number, readonly path: string, readonly atOnce: number, readonly bodies: readonly string[] }} */
const { port, path, atOnce, bodies } = JSON.parse(readFileSync(0, 'utf8'))
const encoded = bodies.map((body) => Buffer.from(body))
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
const counts = { sent: 0, answered: 0 }

function next() {
  const body = encoded[counts.sent++ % encoded.length] ?? Buffer.alloc(0)
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  let ended = false
  const end = (status = 0) => {
    if (ended) return
    ended = true
    if (status === 200) counts.answered += 1
    setTimeout(next, status === 200 ? 0 : REFUSED_MS)
  }
  const asking = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (answer) => {
    answer.resume()
    answer.on('end', () => end(answer.statusCode))
  })
  asking.on('error', () => end())
  asking.end(body)
}

for (let index = 0; index < atOnce; index += 1) next()
setInterval(() => process.send?.(counts.answered), REPORT_MS)
