import { request as httpRequest } from 'node:http'

import type { LoopbackRequest } from './instance-placement.js'

const TIMEOUT_MS = 2000

/** Asks on the loopback address of this machine. */
export const requestLocally: LoopbackRequest = ({ method, port, path }, signal) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, agent: false, timeout: TIMEOUT_MS, signal },
      (response) => {
        // Only the status counts; the rest must be read for the connection to end.
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    request.once('timeout', () => request.destroy(new Error(`no answer on port ${port} within ${TIMEOUT_MS} ms`)))
    request.once('error', reject)
    request.end()
  })
