import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type Collector, startLogCollector, startSpanCollector } from './support/collector.js'
import { startTestMesh, type TestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { throughProxy } from './support/traffic.js'
import { extensionService, meshConfig, telemetry } from './support/yaml.js'

/** The keys that OSM writes of a request. */
const osmKeys = [
  'authority',
  'bytes_received',
  'bytes_sent',
  'duration',
  'method',
  'path',
  'protocol',
  'request_id',
  'requested_server_name',
  'response_code',
  'response_code_details',
  'response_flags',
  'start_time',
  'time_to_first_byte',
  'upstream_cluster',
  'upstream_host',
  'upstream_service_time',
  'user_agent',
  'x_forwarded_for',
]

describe('telemetry of real Envoys', () => {
  let mesh: TestMesh
  let spans: Collector
  let logs: Collector

  const config = (provider: string): string =>
    meshConfig({
      traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false },
      observability: { tracing: { enable: true, provider, address: '127.0.0.1', port: spans.port } },
    })

  /** Lines that a workload's sidecar has written of requests with that path. */
  async function linesOf(workload: string, path: string): Promise<readonly string[]> {
    const folder = join(mesh.stateFolder, 'logs')
    const { namespace, name } = mesh.instance(workload)
    const [file = ''] = (await readdir(folder)).filter((each) => each === `${namespace}.${name}.sidecar.log`)
    return (await readFile(join(folder, file), 'utf8')).split('\n').filter((line) => line.includes(path))
  }
  async function ask(path: string): Promise<void> {
    const answer = await throughProxy(mesh.proxyOf('shop/client'), `http://store-v1.shop:8080${path}`)
    expect(answer.status).toBe(200)
  }

  beforeAll(async () => {
    spans = await startSpanCollector()
    logs = await startLogCollector()
    mesh = await startTestMesh({ ...shop(), 'config.yaml': [config('opentelemetry')] })
  })
  afterAll(async () => {
    await mesh.stop()
    spans.stop()
    logs.stop()
  })

  it('writes a line of each request with the keys of OSM', async () => {
    await ask('/books/usual')
    const [line = ''] = await eventually(
      () => linesOf('shop/store-v1', '/books/usual'),
      (lines) => lines.length > 0,
      { what: 'a line of the access log' },
    )
    const entry = JSON.parse(line) as Readonly<Record<string, unknown>>
    expect(Object.keys(entry).sort()).toEqual(osmKeys)
    expect(entry).toMatchObject({
      method: 'GET',
      path: '/books/usual',
      response_code: 200,
      requested_server_name: 'store-v1.shop.svc.cluster.local',
    })
  })

  it('sends spans of both sides to an OpenTelemetry collector, by the names of their workloads', async () => {
    await ask('/books/spans')
    const all = await eventually(
      () => spans.received.map(({ body }) => body).join('\n'),
      (text) => text.includes('client.shop') && text.includes('store-v1.shop'),
      { what: 'spans of both sides' },
    )
    expect(all).toContain('service.name')
    expect(new Set(spans.received.map(({ path }) => path))).toEqual(new Set(['/v1/traces']))
  })

  it('sends spans to a Zipkin collector, one trace for both sides', async () => {
    await mesh.apply('config.yaml', config('zipkin'))
    interface Span {
      readonly traceId: string
      readonly localEndpoint?: { readonly serviceName?: string }
    }
    const traces = (): ReadonlyMap<string, ReadonlySet<string>> => {
      const bodies = spans.received.filter(({ path }) => path === '/api/v2/spans')
      const services = new Map<string, Set<string>>()
      for (const { traceId, localEndpoint } of bodies.flatMap(({ body }) => JSON.parse(body) as readonly Span[]))
        services.set(traceId, (services.get(traceId) ?? new Set()).add(localEndpoint?.serviceName ?? ''))
      return services
    }
    const both = new Set(['client.shop', 'store-v1.shop'])
    await eventually(
      async () => {
        await ask('/books/zipkin')
        return [...traces().values()].map((services) => [...services])
      },
      (found) => found.some((services) => services.length === 2 && services.every((name) => both.has(name))),
      { what: 'a trace with spans of both sides', everyMs: 300 },
    )
  })

  it('writes the access log of a Telemetry for the workloads that it selects, and sends it to a collector', async () => {
    await mesh.apply(
      'telemetry.yaml',
      extensionService('shop/collector', { host: '127.0.0.1', port: logs.port }),
      telemetry('shop/store', {
        selector: { app: 'store-v1' },
        accessLog: {
          format: 'asked %REQ(:PATH)% 100%%',
          openTelemetry: {
            extensionService: { namespace: 'shop', name: 'collector' },
            attributes: { team: 'books, 100%' },
          },
        },
      }),
    )
    // Connections from before the change are drained first.
    await eventually(
      async () => {
        await ask('/books/own')
        return linesOf('shop/store-v1', '/books/own')
      },
      (lines) => lines.includes('asked /books/own 100%'),
      { what: 'a line in the own format', everyMs: 300 },
    )
    await eventually(
      () => logs.received.map(({ body }) => body).join('\n'),
      (text) => text.includes('asked /books/own 100%') && text.includes('books, 100%'),
      { what: 'a record with the attribute' },
    )
    const [line = ''] = await linesOf('shop/client', '/books/own')
    expect(Object.keys(JSON.parse(line) as object).sort()).toEqual(osmKeys)
  })
})
