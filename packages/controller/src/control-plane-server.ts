import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

import {
  type CertificateManager,
  certificateRef,
  type ControlPlaneSubject,
  type MeshDomains,
  PeerVerifier,
  type VerifiedPeer,
} from '@osm-ts/core'
import { requestTimeouts } from '@osm-ts/program'
import { fastify, type FastifyInstance } from 'fastify'

/** What a server of the control plane serves with. */
export interface ControlPlaneServerOptions {
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  /** Of its certificate. */
  readonly subject: ControlPlaneSubject
  /** True: connections without a certificate of the control plane's root are refused. False: {@link ControlPlaneServer.peerOf} decides for each request. */
  readonly rejectUnauthorized: boolean
  /** Of a request, in bytes. */
  readonly bodyLimit: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A server with a certificate of the control plane, over TLS 1.3. */
export interface ControlPlaneServer {
  readonly app: FastifyInstance<Server>
  /**
   * The client of a connection by its certificate; undefined if it has shown none.
   *
   * @throws OsmError with a code of certificates for one that is not accepted
   */
  readonly peerOf: (socket: Socket) => VerifiedPeer | undefined
  /** Follows certificates and roots until the signal aborts. */
  readonly follow: (signal: AbortSignal) => Promise<void>
}

const REQUEST_MS = 10_000

/** Makes a server whose certificate and roots follow those of the mesh. */
export async function controlPlaneServer(options: ControlPlaneServerOptions): Promise<ControlPlaneServer> {
  const { certificates, domains, subject, rejectUnauthorized, bodyLimit, now } = options
  const ref = certificateRef<'control-plane'>(subject, domains)
  const trustBundle = (): readonly string[] => certificates.trustBundle('control-plane')
  let { chain, privateKey } = (await certificates.issueCertificate(subject)).credential()
  const secure = () => ({ cert: chain, key: privateKey, ca: [...trustBundle()] })
  const makeVerifier = (): PeerVerifier =>
    new PeerVerifier({ authority: 'control-plane', trustBundle: trustBundle(), domains, peer: 'client' })
  let verifier = makeVerifier()
  const app = fastify({
    https: { ...secure(), ...requestTimeouts, minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized },
    logger: false,
    bodyLimit,
    requestTimeout: REQUEST_MS,
  })
  const take = (): void => {
    const certificate = certificates.getCertificate(ref)
    if (certificate !== undefined) ({ chain, privateKey } = certificate.credential())
    verifier = makeVerifier()
    app.server.setSecureContext({ ...secure(), minVersion: 'TLSv1.3' })
  }
  return {
    app,
    peerOf: (socket) => {
      const peer = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
      return peer && verifier.verify(peer.raw, now())
    },
    follow: async (signal) => {
      for await (const { type } of certificates.subscribe(signal))
        if (type === 'rotated' || type === 'rootChanged' || type === 'missed') take()
    },
  }
}
