/** A request that is written as it is, valid or not. */
export interface RawRequest {
  readonly method: string
  /** Each character is a byte. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
}

/** The bytes of a request to a forward proxy. */
export function bytesThroughProxy(authority: string, { method, target, headers }: RawRequest): Uint8Array {
  return requestBytes(authority, { method, target: `http://${authority}${target}`, headers })
}

/** The bytes of a request to a server. */
export function requestBytes(authority: string, { method, target, headers }: RawRequest): Uint8Array {
  const fields = [['host', authority] as const, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${fields.join('')}\r\n`, 'latin1')
}
