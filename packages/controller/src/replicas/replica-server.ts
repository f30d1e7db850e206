import type { Server } from 'node:https'
import { TLSSocket } from 'node:tls'

import { type CertificateManager, certificateRef, type MeshDomains, PeerVerifier } from '@osm-ts/core'
import { requestTimeouts } from '@osm-ts/program'
import { fastify, type FastifyInstance } from 'fastify'

import { isReplica, replicaName, replicaSubject } from './replica-name.js'
import { parseReplicaReport, type ReplicaReport } from './replica-report.js'

/** What the server of replicas serves with. */
export interface ReplicaServerOptions {
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  /** Takes a report. False: there are too many replicas. */
  readonly onReport: (report: ReplicaReport) => boolean
  readonly now: () => number
}

/** Where reports are sent. */
export const REPORT_PATH = '/replica-report'
/** Twice as much as the largest report has, see `summarizeRefusals`. */
const BODY_LIMIT = 8 * 1024 * 1024
const REQUEST_MS = 10_000

/** A server that hears the other controllers: mutual TLS by the root of the control plane. */
export interface ReplicaServer {
  readonly app: FastifyInstance<Server>
  /** Follows certificates and roots until the signal aborts. */
  readonly follow: (signal: AbortSignal) => Promise<void>
}

export async function replicaServer(options: ReplicaServerOptions): Promise<ReplicaServer> {
  const { certificates, domains, onReport, now } = options
  const ref = certificateRef<'control-plane'>(replicaSubject, domains)
  const trustBundle = (): readonly string[] => certificates.trustBundle('control-plane')
  let { chain, privateKey } = (await certificates.issueCertificate(replicaSubject)).credential()
  const secure = () => ({ cert: chain, key: privateKey, ca: [...trustBundle()] })
  const makeVerifier = (): PeerVerifier =>
    new PeerVerifier({ authority: 'control-plane', trustBundle: trustBundle(), domains, peer: 'client' })
  let verifier = makeVerifier()
  const app = fastify({
    https: { ...secure(), ...requestTimeouts, minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: true },
    logger: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_MS,
  })
  app.put(REPORT_PATH, async (request, reply) => {
    const report = parseReplicaReport(request.body)
    if (report === undefined) return reply.code(400).send({ error: 'the body is no report of a replica' })
    return onReport(report) ? reply.code(204).send() : reply.code(503).send({ error: 'there are too many replicas' })
  })
  app.addHook('onRequest', async ({ socket }, reply) => {
    const peer = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
    try {
      if (peer !== undefined && isReplica(verifier.verify(peer.raw, now()), domains)) return undefined
    } catch {
      // Said to no one but those who hold a certificate of the control plane.
    }
    return reply.code(403).send({ error: `only ${replicaName(domains)} may report` })
  })
  const take = (): void => {
    const certificate = certificates.getCertificate(ref)
    if (certificate !== undefined) ({ chain, privateKey } = certificate.credential())
    verifier = makeVerifier()
    app.server.setSecureContext({ ...secure(), minVersion: 'TLSv1.3' })
  }
  return {
    app,
    follow: async (signal) => {
      for await (const { type } of certificates.subscribe(signal))
        if (type === 'rotated' || type === 'rootChanged' || type === 'missed') take()
    },
  }
}
