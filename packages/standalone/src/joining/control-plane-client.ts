import { X509Certificate } from 'node:crypto'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { connect, type ConnectionOptions, type PeerCertificate, type TLSSocket } from 'node:tls'

import {
  type CertificateAnswer,
  CertificateAnswerSchema,
  type JoinAnswer,
  JoinAnswerSchema,
  type JoinRequest,
  type KeyExporter,
  MACHINE_SERVER_NAME,
  machinePaths,
  type MachineReport,
  type ReportAnswer,
  ReportAnswerSchema,
  rootPin,
  TrustAnswerSchema,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord, schemaIssues } from '@osm-ts/driver-api/toolkit'

import type { JoinErrorCode } from './errors.js'

/** The certificate of a machine, and the roots that it trusts. PEM. */
export interface MachineCredential {
  readonly chain: string
  readonly key: string
  readonly trustBundle: readonly string[]
}

const TIMEOUT_MS = 15_000
/** The names of ten thousand Services fit. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** More than certificates allow for. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

type Proof = JoinRequest['proof']

/** A proof that is ready, or one that holds for one connection only. */
export type ProofSource = Proof | ((connection: KeyExporter) => Promise<Proof>)

/** The server of the control plane that machines join by. */
export class ControlPlaneClient {
  readonly #url: URL
  #localAddress: string | undefined

  constructor(url: URL) {
    this.#url = url
  }

  /** Host of the control plane, without brackets. */
  get host(): string {
    return this.#url.hostname.replace(/^\[|\]$/g, '')
  }

  /**
   * Joins by a proof. Nothing of it is sent before the server has proven that the pinned root has signed its certificate.
   *
   * @param request - without an address the machine gives the one by which it reaches the server: a load balancer in between would show another one there
   * @throws OsmError with a code of the control plane, or `OSM_JOIN_*`
   */
  async join(
    pins: readonly string[],
    request: Omit<JoinRequest, 'proof'>,
    source: ProofSource,
    signal: AbortSignal,
  ): Promise<JoinAnswer> {
    const root = await this.#rootOf(pins, signal)
    const address = request.address ?? this.#localAddress
    const tls = verified([root])
    const connection = typeof source === 'function' ? await this.#connect(tls, signal) : undefined
    try {
      const proof =
        typeof source === 'function' && connection !== undefined ? await source(connection) : (source as Proof)
      const body = { ...request, ...(address !== undefined && { address }), proof }
      // Without an agent, the request takes the connection that is there.
      const over = connection && { agent: undefined, createConnection: () => connection }
      const options = { body, tls: { ...tls, ...over }, schema: JoinAnswerSchema }
      return await this.#ask('POST', machinePaths.join, options, signal)
    } finally {
      connection?.destroy()
    }
  }

  /** Another certificate, for the key that signed the request. */
  renew(csr: string, credential: MachineCredential, signal: AbortSignal): Promise<CertificateAnswer> {
    const options = { body: { csr }, tls: mutual(credential), schema: CertificateAnswerSchema }
    return this.#ask('POST', machinePaths.certificate, options, signal)
  }

  /** Tells that the machine is alive; resolves to how its workload reaches others. */
  report(report: MachineReport, credential: MachineCredential, signal: AbortSignal): Promise<ReportAnswer> {
    const options = { body: report, tls: mutual(credential), schema: ReportAnswerSchema }
    return this.#ask('PUT', machinePaths.self, options, signal)
  }

  async leave(credential: MachineCredential, signal: AbortSignal): Promise<void> {
    await this.#ask('DELETE', machinePaths.self, { tls: mutual(credential) }, signal)
  }

  /** Asks for the roots without trust in anything, and takes one that is pinned. */
  async #rootOf(pins: readonly string[], signal: AbortSignal): Promise<string> {
    const options = { tls: { rejectUnauthorized: false }, schema: TrustAnswerSchema }
    const { trustBundle, now } = await this.#ask<{ trustBundle: string[]; now: number }>(
      'GET',
      machinePaths.trust,
      options,
      signal,
    )
    const root = trustBundle.find((pem) => isPinned(pem, pins))
    if (root === undefined)
      throw failure(
        'OSM_JOIN_TRUST',
        `no root of the server at ${this.#url.host} is the one that the join token or --root-file names; check the address, or make another token`,
      )
    const difference = Date.now() - now
    if (Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS)
      throw failure(
        'OSM_JOIN_CLOCK',
        `the clock of this machine is ${Math.round(Math.abs(difference) / 1000)} s ${difference > 0 ? 'ahead of' : 'behind'} that of the control plane; set it, for instance by NTP`,
      )
    return root
  }

  #connect(tls: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.host, port: Number(this.#url.port || 443), minVersion: 'TLSv1.3', ...tls })
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const stop = (): void => void socket.destroy(new Error('it took too long, or was stopped'))
      limit.addEventListener('abort', stop, { once: true })
      socket
        .once('secureConnect', () => {
          limit.removeEventListener('abort', stop)
          resolve(socket)
        })
        .once('error', (error) => reject(this.#failureOf(error)))
    })
  }

  async #ask<T>(method: Method, path: string, { body, tls, schema }: AskOptions, signal: AbortSignal): Promise<T> {
    const { status, text } = await this.#send(method, path, body, tls, signal)
    const value = parse(text)
    if (status < 200 || status > 299) {
      const refusal = isRecord(value) ? value : {}
      const message = typeof refusal.error === 'string' ? refusal.error : `the control plane answered ${status}`
      throw typeof refusal.code === 'string' && /^OSM_[A-Z_]+$/.test(refusal.code)
        ? new OsmError(refusal.code, message)
        : failure('OSM_JOIN_ANSWER', message)
    }
    const [issue] = schema === undefined ? [] : schemaIssues(schema, value)
    if (issue !== undefined)
      throw failure(
        'OSM_JOIN_ANSWER',
        `the control plane sent an answer that does not fit: ${issue.pointer}: ${issue.message}`,
      )
    return value as T
  }

  #send(
    method: Method,
    path: string,
    body: unknown,
    tls: RequestOptions,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(this.#failureOf(error))
      const sending = httpsRequest(
        {
          host: this.host,
          port: this.#url.port || 443,
          method,
          path,
          agent: false,
          minVersion: 'TLSv1.3',
          ...(text !== undefined && {
            headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
          }),
          ...tls,
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        },
        (response) => {
          this.#localAddress = response.socket.localAddress
          const pieces: Buffer[] = []
          let size = 0
          response.on('data', (piece: Buffer) => {
            size += piece.length
            if (size > MAX_ANSWER_BYTES)
              response.destroy(new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`))
            else pieces.push(piece)
          })
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }),
          )
          response.once('error', fail)
        },
      )
      sending.once('error', fail).end(text)
    })
  }

  #failureOf(error: unknown): Error {
    if (error instanceof OsmError) return error
    return failure(
      'OSM_JOIN_UNREACHABLE',
      `the control plane at ${this.#url.host} did not answer: ${errorMessage(error)}`,
      error,
    )
  }
}

interface AskOptions {
  readonly body?: unknown
  readonly tls: RequestOptions
  readonly schema?: Parameters<typeof schemaIssues>[0]
}

/** The server must have the name that no proxy has: certificates of proxies are of the same root. */
function verified(ca: readonly string[]): Pick<RequestOptions, 'ca' | 'checkServerIdentity' | 'rejectUnauthorized'> {
  return {
    ca: [...ca],
    rejectUnauthorized: true,
    checkServerIdentity: (_host, { subjectaltname = '' }: PeerCertificate) =>
      subjectaltname.split(', ').some((name) => name.startsWith(`DNS:${MACHINE_SERVER_NAME}.`))
        ? undefined
        : failure('OSM_JOIN_TRUST', `the server is not that of the control plane by which machines join`),
  }
}

function mutual({ chain, key, trustBundle }: MachineCredential): RequestOptions {
  return { ...verified(trustBundle), cert: chain, key }
}

function isPinned(pem: string, pins: readonly string[]): boolean {
  try {
    return new X509Certificate(pem).ca && pins.includes(rootPin(pem))
  } catch {
    return false
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function failure(code: JoinErrorCode, message: string, cause?: unknown): OsmError<JoinErrorCode> {
  return new OsmError(code, message, { cause })
}
