import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Server, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js'
import {
  type CheckRequest,
  CheckRequestSchema,
  type CheckResponse,
  CheckResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/auth/v3/external_auth_pb.js'
import type { StatusCode } from '@osm-ts/envoy-api/envoy/type/v3/http_status_pb.js'

import { grpcPort } from './grpc-port.js'

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
export interface AuthorizationService {
  readonly port: number
  readonly asked: readonly Asked[]
  /** Decides from now on. */
  readonly decideBy: (decide: (asked: Asked) => Verdict) => void
  readonly stop: () => void
}

const PERMISSION_DENIED = 7

/** Starts an authorization service on the loopback. It refuses everything until it is told otherwise. */
export async function startAuthorizationService(): Promise<AuthorizationService> {
  const asked: Asked[] = []
  let decide: (asked: Asked) => Verdict = () => ({ allow: false })
  const server = new Server()
  const check = ({ request }: ServerUnaryCall<CheckRequest, CheckResponse>, done: sendUnaryData<CheckResponse>) => {
    const { method = '', path = '', host = '', headers = {} } = request.attributes?.request?.http ?? {}
    const one = { method, path, host, headers, principal: request.attributes?.source?.principal ?? '' }
    asked.push(one)
    const verdict = decide(one)
    if (verdict !== 'silence') done(null, create(CheckResponseSchema, responseOf(verdict)))
  }
  server.addService(
    {
      check: {
        path: '/envoy.service.auth.v3.Authorization/Check',
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: CheckRequest) => Buffer.from(toBinary(CheckRequestSchema, message)),
        requestDeserialize: (bytes: Buffer) => fromBinary(CheckRequestSchema, bytes),
        responseSerialize: (message: CheckResponse) => Buffer.from(toBinary(CheckResponseSchema, message)),
        responseDeserialize: (bytes: Buffer) => fromBinary(CheckResponseSchema, bytes),
      },
    },
    { check },
  )
  const port = await grpcPort(server)
  return {
    port,
    asked,
    decideBy: (next) => {
      decide = next
    },
    stop: () => {
      server.forceShutdown()
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
