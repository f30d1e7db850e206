import type { Socket } from 'node:net'

/** A header field whose name and value are sent byte by byte, whatever they are. */
export type Field = readonly [name: string, value: string]

/** What returned on a stream. Status 0: nothing, or nothing that is a status. */
export interface Http2Answer {
  readonly status: number
  readonly body: string
  /** How it ended. */
  readonly end: 'answered' | 'reset' | 'closed' | 'silence'
}

export const FrameType = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const
export const Flag = { endStream: 1, ack: 1, endHeaders: 4 } as const

/** What a client says first. */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const HEADER_LENGTH = 9
/** Largest frame that every peer takes. */
const MAX_FRAME = 16_384
const SILENCE_MS = 10_000

/** One frame (RFC 9113, section 4.1). */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

/** Fields as literals that are in no table (RFC 7541, section 6.2.2): an encoder of a library would refuse most of what is tried here. */
export function fieldBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)])))
}

/** Frames that carry a field block, as many as it takes. */
export function headerFrames(fields: readonly Field[], stream: number, endStream: boolean): Buffer {
  const block = fieldBlock(fields)
  const pieces: Buffer[] = []
  for (let at = 0; at === 0 || at < block.length; at += MAX_FRAME) pieces.push(block.subarray(at, at + MAX_FRAME))
  return Buffer.concat(
    pieces.map((piece, index) => {
      const ends = index === pieces.length - 1 ? Flag.endHeaders : 0
      return index === 0
        ? frame(FrameType.headers, ends | (endStream ? Flag.endStream : 0), stream, piece)
        : frame(FrameType.continuation, ends, stream, piece)
    }),
  )
}

/** A connection over which anything can be sent; opened again whenever the other side has ended it. */
export class RawHttp2Client {
  readonly #open: () => Promise<Socket>
  #connection: Connection | undefined

  constructor(open: () => Promise<Socket>) {
    this.#open = open
  }

  /** Sends frames for its own stream and gives what returns on it. Never rejects. */
  async ask(frames: (stream: number) => Uint8Array): Promise<Http2Answer> {
    if (this.#connection?.usable !== true) {
      this.close()
      this.#connection = new Connection(await this.#open())
    }
    return this.#connection.ask(frames)
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}

class Connection {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #nextStream = 1
  #ended = false
  #current: { readonly stream: number; status: number; body: string; done: (answer: Http2Answer) => void } | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#end('closed'))
    // No table of theirs, so that statuses can be read without one; and room for answers that repeat long requests.
    const settings = Buffer.concat([setting(1, 0), setting(4, 2 ** 24)])
    const window = Buffer.alloc(4)
    window.writeUInt32BE(2 ** 30)
    socket.write(
      Buffer.concat([
        Buffer.from(PREFACE),
        frame(FrameType.settings, 0, 0, settings),
        frame(FrameType.windowUpdate, 0, 0, window),
      ]),
    )
  }

  get usable(): boolean {
    return !this.#ended && !this.#socket.destroyed
  }

  ask(frames: (stream: number) => Uint8Array): Promise<Http2Answer> {
    const stream = this.#nextStream
    this.#nextStream += 2
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end('silence'), SILENCE_MS)
      const done = (answer: Http2Answer): void => {
        clearTimeout(timer)
        resolve(answer)
      }
      this.#current = { stream, status: 0, body: '', done }
      this.#socket.write(frames(stream))
    })
  }

  close(): void {
    this.#ended = true
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (;;) {
      if (this.#received.length < HEADER_LENGTH) return
      const length = this.#received.readUIntBE(0, 3)
      if (this.#received.length < HEADER_LENGTH + length) return
      const type = this.#received[3] ?? 0
      const flags = this.#received[4] ?? 0
      const stream = this.#received.readUInt32BE(5) & 0x7fffffff
      const payload = this.#received.subarray(HEADER_LENGTH, HEADER_LENGTH + length)
      this.#received = this.#received.subarray(HEADER_LENGTH + length)
      this.#take(type, flags, stream, payload)
    }
  }

  #take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FrameType.settings && (flags & Flag.ack) === 0)
      this.#socket.write(frame(FrameType.settings, Flag.ack, 0, Buffer.alloc(0)))
    if (type === FrameType.goAway) {
      this.#ended = true
      this.#finish('reset')
    }
    const current = this.#current
    if (current?.stream !== stream) return
    if (type === FrameType.headers && current.status === 0) current.status = statusOf(payload)
    if (type === FrameType.data) current.body += payload.toString('latin1')
    if (type === FrameType.resetStream) this.#finish('reset')
    else if ((type === FrameType.headers || type === FrameType.data) && (flags & Flag.endStream) !== 0)
      this.#finish('answered')
  }

  #end(end: 'closed' | 'silence'): void {
    this.#ended = true
    this.#finish(end)
  }

  #finish(end: Http2Answer['end']): void {
    const current = this.#current
    this.#current = undefined
    if (current !== undefined) current.done({ status: current.status, body: current.body, end })
  }
}

function setting(identifier: number, value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(identifier)
  bytes.writeUInt32BE(value, 2)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  return Buffer.concat([integer(bytes.length), bytes])
}

/** With a prefix of 7 bits (RFC 7541, section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.of(value)
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

/** Statuses that have their own index (RFC 7541, appendix A), from 8 on. */
const INDEXED_STATUSES = [200, 204, 206, 304, 400, 404, 500]
const STATUS_INDEX = 8
/** Codes of digits (RFC 7541, appendix B). */
const DIGITS = ['00000', '00001', '00010', '011001', '011010', '011011', '011100', '011101', '011110', '011111']

/** The status, which every field block of an answer begins with; 0 if it does not. */
function statusOf(block: Buffer): number {
  let at = 0
  // A peer first says that it uses no table.
  while (((block[at] ?? 0) & 0xe0) === 0x20) at += 1
  const first = block[at] ?? 0
  if ((first & 0x80) !== 0) return INDEXED_STATUSES[(first & 0x7f) - STATUS_INDEX] ?? 0
  const index = (first & 0x40) !== 0 ? first & 0x3f : first & 0x0f
  if (index < STATUS_INDEX || index >= STATUS_INDEX + INDEXED_STATUSES.length) return 0
  const length = block[at + 1] ?? 0
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f))
  return Number((length & 0x80) === 0 ? value.toString('latin1') : digitsOf(value))
}

function digitsOf(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let digits = ''
  for (;;) {
    const digit = DIGITS.findIndex((code) => bits.startsWith(code))
    if (digit === -1) return digits
    digits += String(digit)
    bits = bits.slice(DIGITS[digit]?.length)
  }
}
