import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2'

/** What came back of a call. */
export interface Http2Answer {
  readonly status: number
  /** Code and message of gRPC, from the trailers or from an answer that consists of nothing else. */
  readonly code?: string
  readonly message?: string
  readonly body: Buffer
}

/**
 * Sends one request over HTTP/2 through the forward proxy of a sidecar.
 *
 * @param kind - a GET, a call by gRPC with an empty message, or one that is over with the first message that comes back
 */
export async function overHttp2(
  proxyUrl: string,
  url: string,
  kind: 'get' | 'grpc' | 'first-message',
): Promise<Http2Answer> {
  const { host, pathname, search } = new URL(url)
  const grpc = kind !== 'get'
  const session = connect(proxyUrl)
  try {
    return await new Promise<Http2Answer>((resolve, reject) => {
      session.on('error', reject)
      const stream = session.request(
        {
          ':authority': host,
          ':path': `${pathname}${search}`,
          ':method': grpc ? 'POST' : 'GET',
          ...(grpc ? { 'content-type': 'application/grpc', te: 'trailers' } : {}),
        },
        { endStream: !grpc },
      )
      const chunks: Buffer[] = []
      let seen: IncomingHttpHeaders & IncomingHttpStatusHeader = {}
      stream.on('error', reject)
      const see = (headers: IncomingHttpHeaders): void => {
        seen = { ...seen, ...headers }
      }
      stream.on('response', see)
      stream.on('trailers', see)
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (kind === 'first-message') stream.close()
      })
      stream.on('close', () => {
        const { ':status': status = 0, 'grpc-status': code, 'grpc-message': message } = seen
        resolve({
          status,
          body: Buffer.concat(chunks),
          ...(typeof code === 'string' ? { code } : {}),
          ...(typeof message === 'string' ? { message } : {}),
        })
      })
      if (grpc) stream.end(Buffer.alloc(5))
    })
  } finally {
    session.destroy()
  }
}
