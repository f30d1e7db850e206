import { Duplex } from 'node:stream'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { acceptKey, WebSocketSender } from './web-socket.js'

/** A socket whose other end the test is. */
class TestSocket extends Duplex {
  readonly sent: Buffer[] = []

  override _read(): void {
    // The test pushes.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent.push(chunk)
    done()
  }
}

/** A frame as a client sends it. */
function frame(opcode: number, payload: Buffer, length = payload.length): Buffer {
  const mask = Buffer.from([1, 2, 3, 4])
  const size =
    length < 126
      ? Buffer.from([0x80 | length])
      : length < 65_536
        ? Buffer.from([0x80 | 126, length >> 8, length & 0xff])
        : Buffer.concat([
            Buffer.from([0x80 | 127, 0, 0, 0, 0]),
            Buffer.from([length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255]),
          ])
  const masked = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([Buffer.from([0x80 | opcode]), size, mask, masked])
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

function sender() {
  const socket = new TestSocket()
  return { socket, link: new WebSocketSender(socket, 1000) }
}

describe('a WebSocket on which the server speaks', () => {
  it('is accepted as RFC 6455 has it, and not by anything else', () => {
    const headers = { upgrade: 'WebSocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    // The example of section 1.3.
    expect(acceptKey({ method: 'GET', headers } as never)).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(acceptKey({ method: 'POST', headers } as never)).toBeUndefined()
    expect(acceptKey({ method: 'GET', headers: { ...headers, 'sec-websocket-key': 'x' } } as never)).toBeUndefined()
    expect(acceptKey({ method: 'GET', headers: { ...headers, upgrade: 'h2c' } } as never)).toBeUndefined()
  })

  it('sends texts, answers pings and says goodbye', async () => {
    const { socket, link } = sender()
    link.send('reload')
    expect(socket.sent).toEqual([Buffer.concat([Buffer.from([0x81, 6]), Buffer.from('reload')])])
    socket.push(frame(9, Buffer.from('hi')))
    await turn()
    expect(socket.sent[1]).toEqual(Buffer.concat([Buffer.from([0x8a, 2]), Buffer.from('hi')]))
    socket.push(frame(8, Buffer.alloc(0)))
    await turn()
    expect(socket.sent[2]?.[0]).toBe(0x88)
    expect(socket.writable).toBe(false)
  })

  it('drops what it is told, however it is cut into pieces, and stays in step', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 900 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 50 }),
        (texts, step) => {
          const { socket } = sender()
          const bytes = Buffer.concat([
            ...texts.map((text) => frame(1, Buffer.from(text))),
            frame(9, Buffer.from('end')),
          ])
          for (let at = 0; at < bytes.length; at += step) socket.emit('data', bytes.subarray(at, at + step))
          expect(socket.sent).toEqual([Buffer.concat([Buffer.from([0x8a, 3]), Buffer.from('end')])])
        },
      ),
    )
  })

  it.each([
    ['frames that are too long', frame(1, Buffer.alloc(10), 2000)],
    ['frames of gigabytes', frame(1, Buffer.alloc(10), 0x7fffffff)],
    ['control frames that are too long', frame(9, Buffer.alloc(200))],
    ['frames without a mask', Buffer.from([0x81, 1, 65])],
  ])('ends with %s', (_what, bytes) => {
    const { socket } = sender()
    socket.emit('data', bytes)
    expect(socket.destroyed).toBe(true)
  })
})
