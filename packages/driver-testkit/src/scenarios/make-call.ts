import type { Call, CallTls, Target } from '../actor/protocol.js'
import type { Expectation, ExpectationOf } from './format.js'

/** Expectations that send something. */
export type Sending = Exclude<Expectation, ExpectationOf<'stats' | 'problem'>>

/** What resolves where a caller connects to. */
export interface Routes {
  /** Where to send a request for a URL's authority. */
  readonly http: (authority: string, scheme: 'http' | 'https') => Target
  /** Where to open a TCP connection to a service, or to an address. */
  readonly tcp: (address: string) => Target
}

/** Routes of a workload whose connections are intercepted: as if there was no sidecar. */
export const interceptedRoutes: Routes = { http: addressTarget, tcp: (address) => addressTarget(address, 'http') }

/** The call that an expectation asks for. */
export function makeCall(expectation: Sending, routes: Routes, tls: CallTls | undefined): Call {
  const withTls = tls === undefined ? {} : { tls }
  switch (expectation.kind) {
    case 'http': {
      const [, method = '', scheme = '', authority = '', path = ''] =
        /^([A-Z]+) (https?):\/\/([^/ ]+)(.*)$/.exec(expectation.http) ?? []
      const { version = '1.1', headers = {}, body } = expectation
      return {
        kind: 'http',
        method,
        scheme: scheme === 'https' ? 'https' : 'http',
        authority,
        path: path || '/',
        version,
        headers,
        target: routes.http(authority, scheme === 'https' ? 'https' : 'http'),
        ...(body === undefined ? {} : { body }),
        ...(scheme === 'https' && tls === undefined ? { tls: { serverName: authority.split(':')[0] ?? '' } } : withTls),
      }
    }
    case 'grpc': {
      const [, authority = '', path = ''] = /^([^/]+)(.*)$/.exec(expectation.grpc) ?? []
      const { headers = {}, body } = expectation
      const scheme = expectation.tls === true ? 'https' : 'http'
      return {
        kind: 'grpc',
        scheme,
        authority,
        path,
        headers,
        target: routes.http(authority, scheme),
        ...(body === undefined ? {} : { body }),
        ...withTls,
      }
    }
    case 'websocket': {
      const [, authority = '', path = ''] = /^http:\/\/([^/]+)(.*)$/.exec(expectation.websocket) ?? []
      const { headers = {} } = expectation
      const target = routes.http(authority, 'http')
      return {
        kind: 'upgrade',
        scheme: 'http',
        authority,
        path: path || '/',
        headers,
        target,
        ...lineOf(expectation),
        ...withTls,
      }
    }
    case 'tcp':
      return { kind: 'tcp', target: routes.tcp(expectation.tcp), ...lineOf(expectation), ...withTls }
    case 'kept':
      return { kind: 'kept', ...lineOf(expectation), keep: expectation.kept }
  }
}

function lineOf({ send, keep }: { readonly send?: string; readonly keep?: string }): { send?: string; keep?: string } {
  return { ...(send === undefined ? {} : { send }), ...(keep === undefined ? {} : { keep }) }
}

/** Where an authority of a URL leads. */
export function addressTarget(address: string, scheme: 'http' | 'https'): Target {
  const [host = '', port] = address.split(':')
  return { host, port: port === undefined ? (scheme === 'https' ? 443 : 80) : Number(port) }
}
