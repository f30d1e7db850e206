import type { CertificateManager, MeshDomains } from '@osm-ts/core'

import { type ControlPlaneServer, controlPlaneServer } from '../control-plane-server.js'
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

/** A server that hears the other controllers: mutual TLS by the root of the control plane. */
export type ReplicaServer = Pick<ControlPlaneServer, 'app' | 'follow'>

export async function replicaServer(options: ReplicaServerOptions): Promise<ReplicaServer> {
  const { certificates, domains, onReport, now } = options
  const server = {
    certificates,
    domains,
    subject: replicaSubject,
    rejectUnauthorized: true,
    bodyLimit: BODY_LIMIT,
    now,
  }
  const { app, peerOf, follow } = await controlPlaneServer(server)
  app.put(REPORT_PATH, async (request, reply) => {
    const report = parseReplicaReport(request.body)
    if (report === undefined) return reply.code(400).send({ error: 'the body is not a report of a replica' })
    return onReport(report) ? reply.code(204).send() : reply.code(503).send({ error: 'there are too many replicas' })
  })
  app.addHook('onRequest', async ({ socket }, reply) => {
    try {
      const peer = peerOf(socket)
      if (peer !== undefined && isReplica(peer, domains)) return undefined
    } catch {
      // Said to no one but those who hold a certificate of the control plane.
    }
    return reply.code(403).send({ error: `only ${replicaName(domains)} may report` })
  })
  return { app, follow }
}
