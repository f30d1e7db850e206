import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

import {
  type CertificateManager,
  type ControlPlaneSubject,
  JoinRequestSchema,
  MACHINE_SERVER_NAME,
  type MachineErrorCode,
  machinePaths,
  MachineReportSchema,
  type MeshDomains,
  type ProcessLogger,
  RenewRequestSchema,
  type ReportAnswer,
  type ServiceNames,
} from '@osm-ts/core'
import { isOsmError, OsmError, type RefusedPeer } from '@osm-ts/driver-api'
import { schemaIssues, sourceOf } from '@osm-ts/driver-api/toolkit'
import { AttemptLimiter } from '@osm-ts/program'
import type { FastifyRequest } from 'fastify'

import { type ControlPlaneServer, controlPlaneServer } from '../control-plane-server.js'
import type { Machine, Machines } from './machine.js'
import { type MachineAdmission, unmapped } from './machine-admission.js'

/** What the server of machines serves with. */
export interface MachineServerOptions {
  readonly admission: MachineAdmission
  readonly machines: Machines
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  /** Names of Services for machines that want them. */
  readonly names: () => ServiceNames | undefined
  /** Names and addresses that machines may reach it by. */
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
  /** Told of each machine that is refused, for `osm proxy status`. */
  readonly onRefused: (peer: RefusedPeer) => void
  readonly logger: ProcessLogger
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A server that machines join by, over TLS 1.3. */
export type MachineServer = Pick<ControlPlaneServer, 'app' | 'follow'>

/** Bytes of a request at most: one with the largest key and 64 ports has 12 kB. */
const BODY_LIMIT = 32 * 1024
/** Attempts to join, or with a certificate that is refused. */
const ATTEMPTS = { perSource: { burst: 20, perSecond: 0.5 }, inAll: { burst: 200, perSecond: 50 } } as const
/** Requests of machines that take part: a report every few seconds, and one for each change. */
const REQUESTS = { perSource: { burst: 100, perSecond: 10 }, inAll: { burst: 5_000, perSecond: 2_000 } } as const
const STATUS: Readonly<Record<string, number>> = {
  OSM_MACHINE_REQUEST: 400,
  OSM_MACHINE_KEY: 400,
  OSM_MACHINE_CLASS: 400,
  OSM_PROXY_KEY: 400,
  OSM_MACHINE_NAME: 409,
  OSM_MACHINE_TWICE: 409,
  OSM_MACHINE_LIMIT: 503,
  OSM_MACHINE_BUSY: 429,
}

/** Serves machines: joining for those with a proof, everything else for those with a certificate. */
export async function machineServer(options: MachineServerOptions): Promise<MachineServer> {
  const { admission, machines, names, certificates, domains, serverNames, onRefused, logger, now } = options
  const subject: ControlPlaneSubject = { kind: 'control-plane', name: MACHINE_SERVER_NAME, ...serverNames }
  // Those that join have no certificate yet. One that is shown is verified for each request.
  const server = { certificates, domains, subject, rejectUnauthorized: false, bodyLimit: BODY_LIMIT, now }
  const { app, peerOf, follow } = await controlPlaneServer(server)
  const attempts = new AttemptLimiter(ATTEMPTS, () => performance.now())
  const requests = new AttemptLimiter(REQUESTS, () => performance.now())

  const requireMachine = async ({ socket }: FastifyRequest): Promise<Machine> => {
    const peer = peerOf(socket)
    if (peer === undefined) throw refuse('OSM_MACHINE_UNKNOWN', 'expected a client certificate of a machine')
    if (peer.kind !== 'proxy') throw refuse('OSM_MACHINE_UNKNOWN', 'expected the certificate of a machine')
    return admission.known(peer)
  }

  const provenName = (socket: Socket): Pick<RefusedPeer, 'commonName'> => {
    try {
      const peer = peerOf(socket)
      return peer?.kind === 'proxy' ? { commonName: peer.commonName } : {}
    } catch {
      return {}
    }
  }

  app.addHook('onRequest', async (request) => {
    const source = sourceOf(request.socket.remoteAddress ?? '')
    // The route and not the address that was asked for: a query changes only the latter.
    const limiter = request.routeOptions.url === machinePaths.join ? attempts : requests
    if (!limiter.take(source)) throw refuse('OSM_MACHINE_BUSY', 'too many requests arrive; try again in a few seconds')
  })
  app.get(machinePaths.trust, async () => ({ trustBundle: certificates.trustBundle('control-plane'), now: now() }))
  app.post(machinePaths.join, async ({ body, socket }) =>
    // The server speaks TLS only.
    admission.join(checked(JoinRequestSchema, body), socket as TLSSocket),
  )
  app.post(machinePaths.certificate, async (request) =>
    admission.renew(await requireMachine(request), checked(RenewRequestSchema, request.body).csr),
  )
  app.put(machinePaths.self, async (request) => {
    const { uuid } = await requireMachine(request)
    const report = checked(MachineReportSchema, request.body)
    const answer: ReportAnswer = { variables: { ...(await machines.report(uuid, report)) } }
    const known = report.names === undefined ? undefined : names()
    return known === undefined || known.digest === report.names ? answer : { ...answer, names: known }
  })
  app.delete(machinePaths.self, async (request, reply) => {
    const { uuid, namespace, name } = await requireMachine(request)
    await machines.remove(uuid)
    logger.info({ namespace, machine: name, uuid }, 'a machine has left')
    return reply.code(204).send()
  })
  app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, request, reply) => {
    const code = isOsmError(error) ? error.code : ''
    const status = isOsmError(error) ? statusOf(code) : (error.statusCode ?? 500)
    const source = unmapped(request.socket.remoteAddress ?? '')
    if (code !== 'OSM_MACHINE_BUSY') {
      logger.warn({ audit: 'machine', code, status, source, reason: error.message }, 'a machine was refused')
      if (code !== '') onRefused({ address: source, ...provenName(request.socket), code, message: error.message })
    }
    if (status === 429) reply.header('retry-after', '5')
    // What went wrong inside is for the log.
    return reply.code(status).send({ code, error: status < 500 || code !== '' ? error.message : 'internal error' })
  })
  return { app, follow }
}

function statusOf(code: string): number {
  return STATUS[code] ?? (code.startsWith('OSM_MACHINE_') || code.startsWith('OSM_CERT_PEER_') ? 403 : 500)
}

function checked<T extends Parameters<typeof schemaIssues>[0]>(schema: T, body: unknown): StaticOf<T> {
  const [issue] = schemaIssues(schema, body)
  if (issue === undefined) return body as StaticOf<T>
  throw refuse('OSM_MACHINE_REQUEST', `${issue.pointer.slice(1).replaceAll('/', '.') || 'body'}: ${issue.message}`)
}

/** The type of values that fit a schema. */
type StaticOf<T> = T extends { readonly static: infer S } ? S : never

function refuse(code: MachineErrorCode, message: string): OsmError<MachineErrorCode> {
  return new OsmError(code, message)
}
