import type { Socket } from 'node:net'

/** Time for a peer to read why its request was refused. */
const GRACE_MS = 500

/**
 * Answers a request that is not HTTP, or whose headers are too long, and closes its connection.
 *
 * The answer has to leave first: a socket that is destroyed with bytes unread resets its connection, and the peer never sees the answer.
 */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
  const timer = setTimeout(() => socket.destroy(), GRACE_MS)
  socket.once('close', () => clearTimeout(timer))
}
