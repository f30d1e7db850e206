import type { Server } from 'node:https'

import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'

import { isLoopback } from './own-host.js'
import { requestTimeouts } from './server-limits.js'

/** Largest request body that is read; no one has a use for one. */
const BODY_LIMIT = 1024
const REQUEST_MS = 10_000

/** A server of pages: requests without bodies, each of them short. */
export function pageServer(routerOptions: { readonly ignoreDuplicateSlashes?: boolean } = {}): FastifyInstance {
  return fastify({
    logger: false,
    routerOptions,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_MS,
    connectionTimeout: REQUEST_MS,
    http: requestTimeouts,
  })
}

/** A server of pages over TLS 1.3. */
export type SecurePages = FastifyInstance<Server>

/** As {@link pageServer}, over TLS 1.3, and with larger requests. */
export function securePageServer(
  credential: { readonly cert: string; readonly key: string },
  bodyLimit: number,
): SecurePages {
  return fastify({
    https: { ...credential, ...requestTimeouts, minVersion: 'TLSv1.3' },
    logger: false,
    bodyLimit,
    requestTimeout: REQUEST_MS,
    connectionTimeout: REQUEST_MS,
  })
}

/** Refuses a request for a debug page of a peer elsewhere; undefined for peers on this machine, port-forwards included. */
export function refuseElsewhere({ socket }: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  if (isLoopback(socket.remoteAddress)) return undefined
  return reply.code(403).send({ error: 'debug pages answer on loopback only; use a port-forward' })
}
