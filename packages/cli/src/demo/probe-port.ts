import net from 'node:net'
import tls from 'node:tls'
import { X509Certificate } from 'node:crypto'

import { certificateUris } from '../live/sidecar-certificates.js'

/** A port of a sidecar that only proxies of the mesh should get anything from. */
export interface ProbedPort {
  readonly address: string
  readonly port: number
  /** SNI name that selects the service. */
  readonly serverName: string
  /** Roots of the mesh, PEM. */
  readonly roots: readonly string[]
}

/** What became of plaintext: closed without an answer, answered, or neither within the time. */
export type PlaintextOutcome = 'refused' | 'answered' | 'no reaction'

/** What became of a TLS client without a certificate. */
export interface AnonymousOutcome {
  /** `refused`: nothing came but the end. `accepted`: there was data of the application, or the connection stayed open. */
  readonly outcome: 'refused' | 'accepted'
  /** URIs in the certificate that the server showed; empty if it showed none. */
  readonly serverUris: readonly string[]
  /** True if one of the roots of the mesh has signed the certificate. */
  readonly signedByMesh: boolean
  /** Such as TLSv1.3. */
  readonly protocol: string | undefined
}

const timeoutMs = 3000
/** A server that takes plaintext, HTTP or an echo, answers this. */
const plaintext = 'GET / HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n'
const tlsAlert = 0x15

/** Talks to the port without TLS. */
export async function probePlaintext(
  { address, port }: Pick<ProbedPort, 'address' | 'port'>,
  signal: AbortSignal,
): Promise<PlaintextOutcome> {
  return withSocket(net.connect({ host: address, port }), signal, (socket, settle) => {
    socket.on('connect', () => socket.write(plaintext))
    // A TLS alert is how a server may say that this was no handshake.
    socket.on('data', (data: Buffer) => {
      if (data[0] !== tlsAlert) settle('answered')
    })
    socket.on('error', () => settle('refused'))
    socket.on('close', () => settle('refused'))
    socket.setTimeout(timeoutMs, () => settle('no reaction'))
  })
}

/** Makes a handshake without a client certificate, and requests something. */
export async function probeAnonymous(target: ProbedPort, signal: AbortSignal): Promise<AnonymousOutcome> {
  const socket = tls.connect({
    host: target.address,
    port: target.port,
    servername: target.serverName,
    ALPNProtocols: ['osm'],
    // Judged below: who is there is what we want to know, whatever it is.
    rejectUnauthorized: false,
  })
  let seen: Omit<AnonymousOutcome, 'outcome'> = { serverUris: [], signedByMesh: false, protocol: undefined }
  const outcome = await withSocket<AnonymousOutcome['outcome']>(socket, signal, (_, settle) => {
    socket.on('secureConnect', () => {
      seen = describePeer(socket, target.roots)
      // With TLS 1.3 the client is done before the server has looked for its certificate; the refusal comes afterwards.
      socket.write(plaintext)
    })
    socket.on('data', () => settle('accepted'))
    socket.on('error', () => settle('refused'))
    socket.on('close', () => settle('refused'))
    socket.setTimeout(timeoutMs, () => settle('accepted'))
  })
  return { outcome, ...seen }
}

function describePeer(socket: tls.TLSSocket, roots: readonly string[]): Omit<AnonymousOutcome, 'outcome'> {
  const certificate = socket.getPeerX509Certificate()
  const protocol = socket.getProtocol() ?? undefined
  if (certificate === undefined) return { serverUris: [], signedByMesh: false, protocol }
  return {
    serverUris: certificateUris(certificate),
    signedByMesh: roots.some((pem) => isSignedBy(certificate, new X509Certificate(pem))),
    protocol,
  }
}

function isSignedBy(certificate: X509Certificate, root: X509Certificate): boolean {
  return certificate.checkIssued(root) && certificate.verify(root.publicKey)
}

async function withSocket<T>(
  socket: net.Socket,
  signal: AbortSignal,
  listen: (socket: net.Socket, settle: (outcome: T) => void) => void,
): Promise<T> {
  const destroy = (): void => void socket.destroy()
  signal.addEventListener('abort', destroy, { once: true })
  try {
    return await new Promise<T>((resolve) => listen(socket, resolve))
  } finally {
    signal.removeEventListener('abort', destroy)
    // The listeners are removed; a late error must not end the program.
    socket.on('error', () => undefined).destroy()
  }
}
