import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const host = 'shop.store:14001'
const proxy = new URL(process.env.HTTP_PROXY ?? '')
process.once('SIGTERM', () => process.exit(0))

for (;;) {
  for (const path of ['/open', '/closed']) {
    const began = performance.now()
    const { status, server } = await ask(path)
    const ms = Math.round(performance.now() - began)
    process.stdout.write(`${JSON.stringify({ t: Date.now(), target: 'shop', path, status, server, ms })}\n`)
  }
  await sleep(100)
}

/**
 * @param {string} path
 * @returns {Promise<{ readonly status: number | undefined, readonly server?: string }>} status 0 without an answer
 */
function ask(path) {
  return new Promise((resolve) => {
    const url = { host: proxy.hostname, port: proxy.port, path: `http://${host}${path}` }
    const asked = request({ ...url, headers: { host }, timeout: 5000 })
    asked.once('response', (response) => {
      response.resume()
      response.once('end', () =>
        resolve({ status: response.statusCode, server: String(response.headers.identity ?? '-') }),
      )
    })
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => resolve({ status: 0 }))
    asked.end()
  })
}
