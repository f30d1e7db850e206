import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'

/** An answer to a request. */
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
  // No kept-alive connection: it would hold up the end of a short command.
  const way = connection === undefined ? { agent: false } : { createConnection: () => connection }
  return answerTo((take) => http.get(url, { ...way, signal: limit }, take))
}

/** A request over TLS 1.3. */
export interface HttpsRequest {
  readonly url: URL
  /** PEM of the roots. */
  readonly roots: readonly string[]
  /** Name that the certificate of the server must have. */
  readonly serverName: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON to POST; absent: GET. */
  readonly body?: string
  readonly signal: AbortSignal
}

/** Asks a server whose certificate is verified, and reads the answer up to a bound. */
export async function httpsAsk({ url, roots, serverName, headers, body, signal }: HttpsRequest): Promise<HttpAnswer> {
  const request: https.RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    },
    ca: [...roots],
    servername: serverName,
    minVersion: 'TLSv1.3',
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
  }
  return answerTo((take) => https.request(url, request, take).end(body))
}

function answerTo(start: (take: (response: http.IncomingMessage) => void) => http.ClientRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = start((response) => {
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
