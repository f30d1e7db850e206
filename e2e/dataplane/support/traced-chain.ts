import { expect } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, type TestMesh } from './mesh.js'
import { throughProxy } from './traffic.js'
import { account, meshConfig, service, workload } from './yaml.js'

/** A span as a backend passes it on. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly kind: 'client' | 'server' | 'other'
  /** Resource attribute `service.name`. */
  readonly service: string
  readonly attributes: Readonly<Record<string, string>>
}

/** What sidecars send their spans to. */
export interface TraceBackend {
  /** Ports of the loopback. */
  readonly ports: { readonly otlp: number; readonly zipkin: number }
  readonly spans: readonly CollectedSpan[]
  /** Brings `spans` up to date; absent where they arrive by themselves. */
  readonly refresh?: () => Promise<void>
}

const hops = ['a', 'b', 'c'] as const
/** Spans of a call through all services, two of each hop. */
export const WHOLE = 2 * hops.length

/** `client` calls `a`, which calls `b`, which calls `c`. */
export const tracedWorkloads: readonly string[] = [
  account('shop/client'),
  workload('shop/client', { program: programs.idle }),
  ...hops.flatMap((name, index) => {
    const next = hops[index + 1]
    return [
      account(`shop/${name}`),
      service(`shop/${name}`, name, 8080, { protocol: 'http' }),
      workload(`shop/${name}`, {
        program: programs.relaying,
        port: 8080,
        env: next === undefined ? {} : { NEXT: `http://${next}.shop:8080` },
      }),
    ]
  }),
]

/** A mesh whose sidecars send their spans to a collector. */
export function tracedConfig(
  { ports }: Pick<TraceBackend, 'ports'>,
  provider: 'opentelemetry' | 'zipkin',
  sampledFraction: string,
): string {
  const port = provider === 'zipkin' ? ports.zipkin : ports.otlp
  return meshConfig({
    traffic: { enablePermissiveTrafficPolicyMode: true },
    observability: { tracing: { enable: true, provider, address: '127.0.0.1', port, sampledFraction } },
  })
}

/** Calls all hops, and expects their answer. */
export async function callChain(
  mesh: Pick<TestMesh, 'proxyOf'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { status } = await throughProxy(mesh.proxyOf('shop/client'), `http://a.shop:8080${path}`, { headers })
  expect(status).toBe(200)
}

/** The spans of a call through all hops, from the first to the last: each hop has one of the caller's sidecar and one of the callee's. */
const wholeChain = ['client', ...hops].slice(0, -1).flatMap((caller, index) => [
  [`${caller}.shop`, 'client'],
  [`${String(hops[index])}.shop`, 'server'],
])

/** Spans of requests for a path. */
export function spansOf({ spans }: Pick<TraceBackend, 'spans'>, path: string): readonly CollectedSpan[] {
  return spans.filter(({ attributes }) => new URL(attributes['http.url'] ?? '', 'http://none').pathname === path)
}

/** The number of spans of each trace. */
export function traceSizes(spans: readonly CollectedSpan[]): readonly number[] {
  const sizes = new Map<string, number>()
  for (const { traceId } of spans) sizes.set(traceId, (sizes.get(traceId) ?? 0) + 1)
  return [...sizes.values()]
}

/** Waits until so many spans of a path have arrived. */
export function collected(backend: TraceBackend, path: string, count: number): Promise<readonly CollectedSpan[]> {
  return eventually(
    async () => {
      await backend.refresh?.()
      return spansOf(backend, path)
    },
    ({ length }) => length >= count,
    { what: `${count} spans of ${path}` },
  )
}

/**
 * Expects one whole trace.
 *
 * @param isShared - true: both sides of a hop have one span ID, as tracers of Zipkin do by default
 * @returns the first span
 */
export async function expectWholeTrace(
  backend: TraceBackend,
  path: string,
  { isShared, parent = '' }: { readonly isShared: boolean; readonly parent?: string },
): Promise<CollectedSpan> {
  const spans = await collected(backend, path, wholeChain.length)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const chain: CollectedSpan[] = []
  let above = parent
  for (const [service, kind] of wholeChain) {
    const span = spans.find((each) => each.service === service && each.kind === kind)
    expect({ service, kind, parent: span?.parentSpanId }).toEqual({ service, kind, parent: above })
    if (span === undefined) break
    chain.push(span)
    const beside = chain.at(-2)
    if (!isShared) above = span.spanId
    else if (kind === 'server') {
      expect(span.spanId).toBe(beside?.spanId)
      above = span.spanId
    }
  }
  expect(spans).toHaveLength(wholeChain.length)
  return chain[0] as CollectedSpan // there are six
}

/** Calls the chain until a trace arrives whole after another configuration; returns its path. Connections between sidecars from before the change are drained first, and their traces are cut. */
export function untilWholeTrace(mesh: Pick<TestMesh, 'proxyOf'>, backend: TraceBackend): Promise<string | undefined> {
  const paths: string[] = []
  return eventually(
    async () => {
      const path = `/whole-again/${paths.length}`
      paths.push(path)
      await callChain(mesh, path)
      await backend.refresh?.()
      return paths.find((each) => traceSizes(spansOf(backend, each)).join(' ') === `${WHOLE}`)
    },
    (path) => path !== undefined,
    { everyMs: 500, what: 'a whole trace' },
  )
}
