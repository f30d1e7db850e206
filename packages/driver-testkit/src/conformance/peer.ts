import { connect, type TLSSocket } from 'node:tls'

import type { Credential } from '@osm-ts/driver-api'

import { SERVER_NAME } from '../fake-host.js'

/** A connection that is still there after this many milliseconds has been taken: TLS 1.3 refuses a client after its handshake. */
const TAKEN_AFTER_MS = 300

/** How somebody connects. */
export interface PeerOptions {
  readonly port: number
  /** PEM: what the server is verified by. */
  readonly roots: string
  /** Absent: no certificate is shown. */
  readonly credential?: Credential
  readonly signal: AbortSignal
}

/** What became of a connection. */
export type Peer =
  | { readonly taken: true; readonly serverSerial: string; readonly socket: TLSSocket; readonly ended: Promise<void> }
  | { readonly taken: false; readonly reason: string }

/** Connects by TLS, as a proxy of any kind has to, and sees whether the server keeps the connection. Never rejects. */
export async function connectPeer({ port, roots, credential, signal }: PeerOptions): Promise<Peer> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: SERVER_NAME,
    ca: roots,
    // One of them is what servers of HTTP choose; who speaks something else chooses none.
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(credential === undefined ? {} : { cert: credential.chain, key: credential.privateKey }),
  })
  let reason = 'the server closed the connection'
  socket.on('error', (error: Error) => {
    reason = error.message
  })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const abort = () => socket.destroy()
  signal.addEventListener('abort', abort, { once: true })
  socket.resume()
  let timer: NodeJS.Timeout | undefined
  const taken = await new Promise<boolean>((resolve) => {
    void ended.then(() => resolve(false))
    socket.once('secureConnect', () => {
      timer = setTimeout(() => resolve(true), TAKEN_AFTER_MS)
    })
  })
  clearTimeout(timer)
  void ended.then(() => signal.removeEventListener('abort', abort))
  if (!taken) return { taken, reason }
  return { taken, serverSerial: socket.getPeerCertificate().serialNumber.toLowerCase(), socket, ended }
}
