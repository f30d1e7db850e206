import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** What RFC 6455 has a server add to the key of a client. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const TEXT = 0x1
const CLOSE = 0x8
const PING = 0x9
const PONG = 0xa
const FINAL = 0x80
const MASKED = 0x80
/** Control frames may not be longer, and frames that are sent here never are. */
const SHORT = 125
const NORMAL_CLOSURE = 1000

/** Value of `sec-websocket-accept`; undefined if the request requests no connection that is spoken here. */
export function acceptKey({ headers, method }: IncomingMessage): string | undefined {
  const key = headers['sec-websocket-key']
  const isWebSocket = headers.upgrade?.toLowerCase() === 'websocket' && method === 'GET'
  if (!isWebSocket || key === undefined || !/^[A-Za-z0-9+/]{22}==$/.test(key)) return undefined
  return createHash('sha1').update(`${key}${KEY_SUFFIX}`).digest('base64')
}

/**
 * The server's end of a WebSocket (RFC 6455) on which only the server has something to say. Pings and the end are answered, what else the peer sends is
 * read and dropped, frame by frame and within a bound.
 */
export class WebSocketSender {
  readonly #socket: Duplex
  readonly #maxFrameBytes: number
  #buffered = Buffer.alloc(0)
  /** Bytes of the present frame that are yet to be dropped. */
  #skip = 0

  /**
   * @param socket - on which the answer to the upgrade has been written
   * @param maxFrameBytes - a longer frame ends the connection
   */
  constructor(socket: Duplex, maxFrameBytes: number) {
    this.#socket = socket
    this.#maxFrameBytes = maxFrameBytes
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  /** Sends a short text. */
  send(text: string): void {
    this.#write(TEXT, Buffer.from(text))
  }

  /** Says goodbye and closes. */
  close(): void {
    const status = Buffer.alloc(2)
    status.writeUInt16BE(NORMAL_CLOSURE)
    this.#write(CLOSE, status)
    this.#socket.end()
  }

  #receive(chunk: Buffer): void {
    this.#buffered = Buffer.concat([this.#buffered, chunk])
    while (!this.#socket.destroyed && this.#next());
  }

  /** @returns false if the present frame has not all come yet */
  #next(): boolean {
    if (this.#skip > 0) {
      const dropped = Math.min(this.#skip, this.#buffered.length)
      this.#skip -= dropped
      this.#buffered = this.#buffered.subarray(dropped)
      return this.#skip === 0 && this.#buffered.length > 0
    }
    const header = readHeader(this.#buffered)
    if (header === undefined) return false
    const { opcode, masked, length, size } = header
    const isControl = opcode >= CLOSE
    if (!masked || length > this.#maxFrameBytes || (isControl && length > SHORT)) {
      this.#socket.destroy()
      return false
    }
    if (!isControl) {
      this.#buffered = this.#buffered.subarray(size)
      this.#skip = length
      return true
    }
    if (this.#buffered.length < size + length) return false
    const payload = unmask(this.#buffered.subarray(size - 4, size), this.#buffered.subarray(size, size + length))
    this.#buffered = this.#buffered.subarray(size + length)
    if (opcode === PING) this.#write(PONG, payload)
    if (opcode === CLOSE) this.close()
    return true
  }

  #write(opcode: number, payload: Buffer): void {
    if (payload.length > SHORT) throw new RangeError(`a frame of ${payload.length} bytes is not short`)
    if (this.#socket.writable)
      this.#socket.write(Buffer.concat([Buffer.from([FINAL | opcode, payload.length]), payload]))
  }
}

interface FrameHeader {
  readonly opcode: number
  readonly masked: boolean
  readonly length: number
  /** Bytes before the payload, with the mask. */
  readonly size: number
}

function readHeader(bytes: Buffer): FrameHeader | undefined {
  const [first = 0, second = 0] = bytes
  if (bytes.length < 2) return undefined
  const short = second & 0x7f
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
  const masked = (second & MASKED) !== 0
  const size = 2 + lengthBytes + (masked ? 4 : 0)
  if (bytes.length < size) return undefined
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  return { opcode: first & 0x0f, masked, length, size }
}

function unmask(mask: Buffer, payload: Buffer): Buffer {
  return Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
}
