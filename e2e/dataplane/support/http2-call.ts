import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2'

/** What returned of a call. */
export interface Http2Answer {
  readonly status: number
  /** Code and message of gRPC, from the trailers or from an answer that consists of nothing else. */
  readonly code?: string
  readonly message?: string
  readonly body: Buffer
}

/** A GET, a call by gRPC with an empty message, or one that is over with the first message that returns. */
type CallKind = 'get' | 'grpc' | 'first-message'

/** Sends one request over HTTP/2 through the forward proxy of a sidecar. */
export function overHttp2(proxyUrl: string, url: string, kind: CallKind): Promise<Http2Answer> {
  return withHttp2(proxyUrl, (session) => callOver(session, url, kind))
}

/** Opens one connection to a forward proxy for as long as it is used. */
export async function withHttp2<T>(proxyUrl: string, use: (session: ClientHttp2Session) => Promise<T>): Promise<T> {
  const session = connect(proxyUrl)
  // A session that fails ends all of its streams, which say so.
  session.on('error', () => session.destroy())
  try {
    return await use(session)
  } finally {
    session.destroy()
  }
}

/** Sends one request over a connection. */
export function callOver(session: ClientHttp2Session, url: string, kind: CallKind): Promise<Http2Answer> {
  const { host, pathname, search } = new URL(url)
  const grpc = kind !== 'get'
  return new Promise((resolve, reject) => {
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
}
