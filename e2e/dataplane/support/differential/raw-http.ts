import type { Socket } from 'node:net'

/** What returned over a raw connection. Status 0: nothing, and the connection is gone. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
  /** Where a redirect leads. */
  readonly location?: string
  /** Of an answer to a gRPC call. */
  readonly grpcStatus?: number
}

const SILENCE_MS = 10_000

/** A client that sends bytes as they are, one request after the other, over one connection as long as the other side keeps it. */
export class RawClient {
  readonly #open: () => Promise<Socket>
  #socket: Socket | undefined

  /** @param open - opens a connection; called again whenever the other side has closed the one before */
  constructor(open: () => Promise<Socket>) {
    this.#open = open
  }

  /** Sends a request and gives its answer. Never rejects. */
  async ask(request: Uint8Array): Promise<RawAnswer> {
    const socket = await this.#connected()
    if (socket === undefined) return { status: 0, body: '' }
    const hasBody = !Buffer.from(request.subarray(0, 5)).equals(Buffer.from('HEAD '))
    return new Promise((resolve) => {
      let heard = Buffer.alloc(0)
      const onData = (chunk: Buffer): void => {
        heard = Buffer.concat([heard, chunk])
        const answer = readAnswer(heard, hasBody)
        if (answer !== undefined) done(answer, answer.reusable)
      }
      const onEnd = (): void => done({ status: 0, body: '' }, false)
      const timer = setTimeout(onEnd, SILENCE_MS)
      const done = (answer: RawAnswer, reusable: boolean): void => {
        clearTimeout(timer)
        socket.off('data', onData).off('close', onEnd)
        if (!reusable) this.close()
        resolve(answer)
      }
      socket.on('data', onData).on('close', onEnd)
      socket.write(request)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connected(): Promise<Socket | undefined> {
    if (this.#socket?.destroyed === false) return this.#socket
    try {
      this.#socket = await this.#open()
      this.#socket.on('error', () => this.close())
      return this.#socket
    } catch {
      return undefined
    }
  }
}

/** The answer, once all of it is there. */
function readAnswer(heard: Buffer, hasBody: boolean): (RawAnswer & { readonly reusable: boolean }) | undefined {
  const end = heard.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [statusLine = '', ...fields] = heard.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const
    }),
  )
  const status = Number(statusLine.split(' ')[1])
  const reusable = headers.get('connection') !== 'close'
  const location = headers.get('location')
  const grpcStatus = headers.get('grpc-status')
  const head = {
    status,
    reusable,
    ...(location === undefined ? {} : { location }),
    ...(grpcStatus === undefined ? {} : { grpcStatus: Number(grpcStatus) }),
  }
  if (!hasBody) return { ...head, body: '' }
  const rest = heard.subarray(end + 4)
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = readChunks(rest)
    return body === undefined ? undefined : { ...head, body }
  }
  const length = Number(headers.get('content-length') ?? 0)
  return rest.length < length ? undefined : { ...head, body: rest.subarray(0, length).toString() }
}

function readChunks(bytes: Buffer): string | undefined {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return undefined
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16)
    if (bytes.length < end + 2 + size + 2) return undefined
    if (size === 0) return Buffer.concat(parts).toString()
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
