import { describe, expect, it } from '@jest/globals'

import { askWorkload, probeOf } from '../../codebase/probe-request.js'

interface Head {
  method: string
  path: string
  headers: Record<string, string>
}

const http = { path: '/osm-liveness-probe', type: 'http', targetPath: '/alive?deep=1', headers: [['X-Probe', 'a']] }
const grpc = { path: '/grpc.health.v1.Health/Check', type: 'grpc', headers: [] }
const ask = (head: Partial<Head>): unknown =>
  (probeOf as (probes: readonly unknown[], head: Head) => unknown)([http, grpc], {
    method: 'GET',
    path: http.path,
    headers: {},
    ...head,
  })
const call = { method: 'POST', path: grpc.path, headers: { 'content-type': 'application/grpc+proto' } }

describe('requests to the address of a probe', () => {
  it.each([
    ['GET', {}, http],
    ['HEAD', { method: 'HEAD' }, http],
    ['a call of the health protocol', call, grpc],
  ])('are that probe: %s', (_what, head, probe) => {
    expect(ask(head)).toEqual({ probe })
  })

  it.each([
    ['another path', { path: '/alive' }, 404],
    ['a query', { path: `${http.path}?admin=1` }, 404],
    ['another method', { method: 'POST' }, 405],
    ['a method in other letters', { method: 'get' }, 405],
    ['a body of some length', { headers: { 'content-length': '3' } }, 400],
    ['a body in chunks', { headers: { 'transfer-encoding': 'chunked' } }, 400],
    ['a call that is none of gRPC', { ...call, headers: {} }, 404],
    ['a call by GET', { ...call, method: 'GET' }, 404],
  ])('are answered without the workload: %s', (_what, head, status) => {
    expect(ask(head)).toEqual({ status })
  })

  it('reach the workload by its own path, without headers that tell who a caller is', () => {
    const head: Head = {
      method: 'GET',
      path: http.path,
      headers: { serviceidentity: 'bank.victim', 'x-forwarded-client-cert': 'By=x', host: 'a' },
    }
    ;(askWorkload as (probe: unknown, head: Head) => void)(http, head)
    expect(head).toEqual({ method: 'GET', path: '/alive?deep=1', headers: { host: 'a', 'x-probe': 'a' } })
  })
})
