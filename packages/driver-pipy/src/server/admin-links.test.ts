import { Duplex } from 'node:stream'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { AdminLinks } from './admin-links.js'
import { limits } from './limits.js'
import type { AdminLink } from './session-ports.js'

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

const headers = {
  upgrade: 'WebSocket',
  connection: 'Upgrade',
  'sec-websocket-version': '13',
  // The example of RFC 6455, section 1.3.
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const proxy = { uuid: '0b0e4c5a-3f9c-4c57-9f3c-6f2d1c7c7a11', commonName: 'one' }

/** Asks for a link as the worker of {@link proxy} does. */
async function open(changes: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {}) {
  const socket = new TestSocket()
  const opened: AdminLink[] = []
  const session = {
    proxy,
    ended: undefined,
    addLink: (link: AdminLink) => opened.push(link),
    removeLink: (link: AdminLink) => opened.splice(opened.indexOf(link), 1),
  }
  const answers: number[] = []
  const links = new AdminLinks(
    { admit: async () => session } as never,
    { requested: (_kind: string, status: number) => answers.push(status) } as never,
    {} as never,
  )
  const url = `/repo/osm-edge-sidecar/one/${proxy.uuid}`
  await links.upgrade({ method: 'GET', url, headers, socket, ...changes } as never, socket, Buffer.alloc(0))
  const [handshake = Buffer.alloc(0)] = socket.sent.splice(0)
  return { socket, opened, answers, handshake: handshake.toString() }
}

describe('the admin link of a worker', () => {
  it('is opened as RFC 6455 has it, and by nothing else', async () => {
    expect((await open()).handshake).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    for (const bad of [
      { method: 'POST' },
      { headers: { ...headers, 'sec-websocket-key': 'x' } },
      { headers: { ...headers, upgrade: 'h2c' } },
    ]) {
      const { handshake, answers, opened, socket } = await open(bad)
      expect(handshake).toMatch(/^HTTP\/1\.1 400 /)
      expect(answers).toEqual([400])
      expect(opened).toEqual([])
      expect(socket.writable).toBe(false)
    }
  })

  it('has texts sent, pings answered and a goodbye', async () => {
    const { socket, opened } = await open()
    opened[0]?.reload()
    expect(Buffer.concat(socket.sent.splice(0))).toEqual(Buffer.concat([Buffer.from([0x81, 6]), Buffer.from('reload')]))
    socket.push(frame(9, Buffer.from('hi')))
    await turn()
    expect(Buffer.concat(socket.sent.splice(0))).toEqual(Buffer.concat([Buffer.from([0x8a, 2]), Buffer.from('hi')]))
    socket.push(frame(8, Buffer.alloc(0)))
    await turn()
    expect(socket.sent[0]?.[0]).toBe(0x88)
    expect(socket.writable).toBe(false)
  })

  it('ends with a goodbye of the control plane, without an answer of the worker', async () => {
    const { socket, opened } = await open()
    opened[0]?.close()
    expect(Buffer.concat(socket.sent)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe8]))
    expect(socket.writable).toBe(false)
    socket.push(null)
    await turn()
    expect(opened).toEqual([])
  })

  it('drops what it is told, however it is cut into pieces, and stays in step', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 900 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 50 }),
        async (texts, step) => {
          const { socket } = await open()
          const bytes = Buffer.concat([
            // Binary: bytes of a text would have to be UTF-8.
            ...texts.map((text) => frame(2, Buffer.from(text))),
            frame(9, Buffer.from('end')),
          ])
          for (let at = 0; at < bytes.length; at += step) socket.push(bytes.subarray(at, at + step))
          while (socket.sent.length === 0) await turn()
          expect(Buffer.concat(socket.sent)).toEqual(Buffer.concat([Buffer.from([0x8a, 3]), Buffer.from('end')]))
        },
      ),
    )
  })

  it.each([
    ['frames that are too long', frame(1, Buffer.alloc(10), limits.maxLinkFrameBytes + 1)],
    ['frames of gigabytes', frame(1, Buffer.alloc(10), 0x7fffffff)],
    ['control frames that are too long', frame(9, Buffer.alloc(200))],
    ['frames without a mask', Buffer.from([0x81, 1, 65])],
  ])('ends with %s', async (_what, bytes) => {
    const { socket, opened } = await open()
    socket.push(bytes)
    await turn()
    await turn()
    expect(socket.destroyed).toBe(true)
    expect(opened).toEqual([])
  })
})
