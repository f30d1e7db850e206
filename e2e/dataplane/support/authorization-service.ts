import type { MessageInitShape } from '@bufbuild/protobuf'
import { CheckRequestSchema, CheckResponseSchema } from '@osm-ts/envoy-api/envoy/service/auth/v3/external_auth_pb.js'
import type { StatusCode } from '@osm-ts/envoy-api/envoy/type/v3/http_status_pb.js'

import { type GrpcServer, serveUnary } from './grpc-server.js'

/** A request as the service was asked about it. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  /** Who asks, by the certificate of the connection. */
  readonly principal: string
}

/** What the service says: headers for the workload, a refusal, or nothing at all. */
export type Verdict =
  | { readonly allow: true; readonly set?: Readonly<Record<string, string>>; readonly remove?: readonly string[] }
  | {
      readonly allow: false
      readonly status?: StatusCode
      readonly body?: string
      readonly set?: Readonly<Record<string, string>>
    }
  | 'silence'

/** A service that decides about requests for many proxies, and remembers what it was asked. */
export interface AuthorizationService extends GrpcServer {
  readonly asked: readonly Asked[]
  /** Decides from now on. */
  readonly decideBy: (decide: (asked: Asked) => Verdict) => void
}

const PERMISSION_DENIED = 7

/** Starts an authorization service on the loopback. It refuses everything until it is told otherwise. */
export async function startAuthorizationService(): Promise<AuthorizationService> {
  const asked: Asked[] = []
  let decide: (asked: Asked) => Verdict = () => ({ allow: false })
  const path = '/envoy.service.auth.v3.Authorization/Check'
  const types = { request: CheckRequestSchema, response: CheckResponseSchema }
  const server = await serveUnary(path, types, ({ attributes }, done) => {
    const { method = '', path = '', host = '', headers = {} } = attributes?.request?.http ?? {}
    const one = { method, path, host, headers, principal: attributes?.source?.principal ?? '' }
    asked.push(one)
    const verdict = decide(one)
    if (verdict !== 'silence') done(responseOf(verdict))
  })
  return {
    ...server,
    asked,
    decideBy: (next) => {
      decide = next
    },
  }
}

function responseOf(verdict: Exclude<Verdict, 'silence'>): MessageInitShape<typeof CheckResponseSchema> {
  const headers = Object.entries(verdict.set ?? {}).map(([key, value]) => ({ header: { key, value } }))
  if (verdict.allow)
    return {
      status: { code: 0 },
      httpResponse: { case: 'okResponse', value: { headers, headersToRemove: [...(verdict.remove ?? [])] } },
    }
  const { status, body = '' } = verdict
  return {
    status: { code: PERMISSION_DENIED },
    httpResponse: {
      case: 'deniedResponse',
      value: { headers, body, ...(status === undefined ? {} : { status: { code: status } }) },
    },
  }
}
