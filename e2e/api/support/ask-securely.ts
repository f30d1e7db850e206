import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'

/** A request over TLS that verifies the server. */
export interface SecureRequest {
  /** PEM. */
  readonly roots: string
  /** DNS name that the certificate must have. */
  readonly serverName: string
  readonly signal: AbortSignal
  /** Sent as a bearer token. */
  readonly token?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the answer early, once it has this text. */
  readonly until?: string
}

/** What a server has answered. */
export interface SecureAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends a request over TLS, and rejects if the certificate is not of the roots or for another name. */
export function askSecurely(
  url: string,
  { roots, serverName, signal, token, method = 'GET', headers = {}, body, until }: SecureRequest,
): Promise<SecureAnswer> {
  return new Promise((resolve, reject) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const options = { method, ca: roots, servername: serverName, agent: false, signal } as const
    const sent = request(url, { ...options, headers: { ...headers, ...authorization } }, (response) => {
      let text = ''
      const end = (): void => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
        sent.destroy()
      }
      response.setEncoding('utf8').on('end', end).on('error', reject)
      response.on('data', (piece: string) => {
        text += piece
        if (until !== undefined && text.includes(until)) end()
      })
    })
    sent.on('error', reject).end(body)
  })
}
