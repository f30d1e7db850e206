import http from 'node:http'
import type { Duplex } from 'node:stream'

/** An answer to a GET. */
export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

const maxBytes = 256 * 1024 * 1024

/** How to GET. */
export interface HttpGetOptions {
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  /** An existing connection for this request only. Absent: the URL says where to connect. */
  readonly connection?: Duplex
}

/** GETs a URL without following redirects, and reads the answer up to a bound. */
export async function httpGet(
  url: string,
  { signal, timeoutMs = 10_000, connection }: HttpGetOptions,
): Promise<HttpAnswer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  return new Promise((resolve, reject) => {
    // No kept-alive connection: it would hold up the end of a short command.
    const way = connection === undefined ? { agent: false } : { createConnection: () => connection }
    const request = http.get(url, { ...way, signal: limit }, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) request.destroy(new Error(`more than ${maxBytes} bytes`))
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      )
    })
    request.on('error', reject)
  })
}
