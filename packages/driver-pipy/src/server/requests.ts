import type { TLSSocket } from 'node:tls'

import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Codebase } from '../codebase/codebase.js'
import { limits } from './limits.js'
import { readPluginReport } from './plugin-report.js'
import { addressOf, type RefusedPeers } from './refused-peers.js'
import type { RepoMetrics, RequestKind } from './repo-metrics.js'
import { readTarget, type RequestTarget } from './request-target.js'
import { readStatusReport } from './status-report.js'
import type { WorkerAuthority } from './worker-authority.js'
import type { WorkerSession } from './worker-session.js'
import type { Refusal } from './worker-sessions.js'

/** What requests are answered with. */
export interface RequestPorts {
  readonly authority: WorkerAuthority
  readonly codebase: () => Codebase
  readonly metrics: RepoMetrics
  readonly refused: RefusedPeers
  readonly now: () => number
  /** 0 to 1. */
  readonly random: () => number
  /** Milliseconds until a poll is answered if nothing changes. */
  readonly pollTimeoutMs: number
}

/** Path of the document without private keys, for scripts that watch a file. */
const CONFIG_FILE = '/config.json'

/** A request that is not answered, also one that no worker makes. */
type Refused = Omit<Refusal, 'status'> & { readonly status: number }

const REVISION_HEADER = 'osm-revision'
const REVISION = /^[A-Za-z0-9._-]{0,128}$/

/** Answers what workers ask of the repo server. */
export class Requests {
  readonly #ports: RequestPorts
  /** The codebase that is downloaded on a connection: what a new release brings must not mix with it. */
  readonly #downloads = new WeakMap<TLSSocket, Codebase>()
  readonly #refusals = new WeakMap<TLSSocket, number>()

  constructor(ports: RequestPorts) {
    this.#ports = ports
  }

  /** Answers one request. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const socket = request.raw.socket as TLSSocket // the server speaks TLS only
    const target = readTarget(request.raw.url ?? '')
    reply.header('cache-control', 'no-store')
    if (target === undefined) return this.#refuse(socket, reply, this.#invalid(socket, 400, 'no path of this server'))
    const isPost = request.method === 'POST'
    if (isPost !== (target.kind === 'plugins') && !(isPost && target.kind === 'manifest')) {
      reply.header('allow', isPost ? 'GET, HEAD' : 'POST')
      return this.#refuse(socket, reply, this.#invalid(socket, 405, `that can only be ${isPost ? 'read' : 'written'}`))
    }
    const session = await this.#ports.authority.admit(socket, {
      ...('codebase' in target && { codebase: target.codebase }),
      ...(target.kind === 'config' && { hasKey: target.query.get('key') === 'proxy' }),
    })
    if ('status' in session) return this.#refuse(socket, reply, session)
    session.heard()
    if (target.kind === 'plugins') return this.#plugins(request, reply, session)
    if (isPost) return this.#status(request, reply, session)
    return target.kind === 'config'
      ? this.#config(request, reply, session, target.query)
      : this.#read(request, reply, session, target)
  }

  /** Kind of a request, for metrics. */
  kindOf(request: FastifyRequest): RequestKind {
    const kind = readTarget(request.raw.url ?? '')?.kind
    if (kind === undefined) return 'other'
    return kind === 'manifest' && request.method === 'POST' ? 'status' : kind
  }

  #read(
    request: FastifyRequest,
    reply: FastifyReply,
    session: WorkerSession,
    target: Exclude<RequestTarget, { readonly kind: 'config' | 'plugins' }>,
  ): FastifyReply {
    const { codebase, now } = this.#ports
    const socket = request.raw.socket as TLSSocket // the server speaks TLS only
    const isGet = request.method === 'GET'
    switch (target.kind) {
      case 'manifest': {
        const current = codebase()
        if (isGet) {
          this.#downloads.set(socket, current)
          session.downloads.begin(current, now())
        }
        return reply.header('etag', current.etag).type('text/plain').send(current.manifest)
      }
      case 'etags':
        return reply.type('text/plain').send(codebase().etags)
      case 'file': {
        if (target.path === CONFIG_FILE) return sendPlain(reply, session)
        const file = (this.#downloads.get(socket) ?? codebase()).file(target.path)
        if (file === undefined) return reply.code(404).type('text/plain').send('there is no such file\n')
        if (isGet) reply.raw.once('finish', () => session.downloads.fetched(target.path))
        return reply.header('etag', file.etag).type('text/javascript').send(file.content)
      }
    }
  }

  #status({ body }: FastifyRequest, reply: FastifyReply, session: WorkerSession): FastifyReply {
    const report = readStatusReport(body instanceof Uint8Array ? body : new Uint8Array())
    if (report === undefined) return reply.code(400).type('text/plain').send('that is not a status report\n')
    session.noteStatus(report)
    // 206 would request increments of metrics, which are not kept here.
    return reply.code(201).send()
  }

  #plugins({ body }: FastifyRequest, reply: FastifyReply, session: WorkerSession): FastifyReply {
    const report = readPluginReport(body instanceof Uint8Array ? body : new Uint8Array())
    if (report === undefined) return reply.code(400).type('text/plain').send('that is not a report of plugins\n')
    session.notePlugins(report)
    return reply.code(204).send()
  }

  async #config(
    request: FastifyRequest,
    reply: FastifyReply,
    session: WorkerSession,
    query: URLSearchParams,
  ): Promise<FastifyReply> {
    const has = query.get('rev') ?? ''
    const refused = query.get('refused')
    if (request.method !== 'GET' || !REVISION.test(has) || (refused !== null && !REVISION.test(refused)))
      return reply.code(400).type('text/plain').send('rev and refused are revisions\n')
    if (session.waiting >= limits.maxPollsOfWorker)
      return reply.code(429).type('text/plain').send('too many polls wait\n')
    if (refused !== null && refused !== '') session.refuse(refused, query.get('error') ?? '')
    const { random, pollTimeoutMs } = this.#ports
    const jitter = 1 + limits.pollJitter * (2 * random() - 1)
    const pollEnd = new AbortController()
    const timer = setTimeout(() => pollEnd.abort(), pollTimeoutMs * jitter)
    const gone = () => pollEnd.abort()
    request.raw.socket.once('close', gone)
    try {
      const unusable = (query.get('unusable') ?? '').split(',').filter((key) => key !== '')
      const offer = await session.poll(has, pollEnd.signal, unusable)
      const end = session.ended
      // Not at once: two that share a certificate and differ in what they ask for would take the session from each other without end.
      if (end === 'superseded') return await reply.code(503).type('text/plain').send('another session has begun\n')
      if (end === 'released' || end === 'workload-deleted') return await reply.code(403).send()
      if (offer === undefined) return await reply.code(204).send()
      const begun = performance.now()
      const bytes = Buffer.byteLength(offer.body)
      reply.raw.once('finish', () => session.noteSent(performance.now() - begun, bytes))
      return await reply.header(REVISION_HEADER, offer.revision).type('application/json').send(offer.body)
    } finally {
      clearTimeout(timer)
      request.raw.socket.off('close', gone)
    }
  }

  #invalid(socket: TLSSocket, status: 400 | 405, reason: string): Refused {
    const commonName = this.#ports.authority.commonNameOf(socket)
    return { status, reason, code: 'OSM_PIPY_REQUEST_INVALID', ...(commonName === undefined ? {} : { commonName }) }
  }

  #refuse(socket: TLSSocket, reply: FastifyReply, refusal: Refused): FastifyReply {
    const count = (this.#refusals.get(socket) ?? 0) + 1
    this.#refusals.set(socket, count)
    if (count <= limits.maxToldRefusals) this.#ports.refused.note(addressOf(socket), refusal, refusal.commonName)
    // One that is refused again and again has to shake hands again and again.
    else reply.header('connection', 'close')
    return reply.code(refusal.status).type('text/plain').send(`${refusal.reason}\n`)
  }
}

function sendPlain(reply: FastifyReply, session: WorkerSession): FastifyReply {
  const document = session.plainDocument()
  if (document === undefined) return reply.code(404).type('text/plain').send('there is no policy yet\n')
  return reply.header('etag', document.revision).type('application/json').send(document.body)
}
