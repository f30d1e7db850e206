import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

import { listen } from '@osm-ts/driver-testkit/testing'

import { freePort } from '../../api/support/controller-process.js'
import { TraceProgram, type TraceProgramStart } from './trace-program.js'
import type { CollectedSpan, TraceBackend } from './traced-chain.js'

interface KeyValue {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

/** The JSON encoding of OTLP, as far as it is read. */
interface ExportedTraces {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes?: readonly KeyValue[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly kind?: number
        readonly attributes?: readonly KeyValue[]
      }[]
    }[]
  }[]
}

/** A real OpenTelemetry Collector, which set-up has built. It receives OTLP and Zipkin, and exports every span to this process. */
export class OtelCollector extends TraceProgram {
  readonly #spans: CollectedSpan[] = []
  readonly #backend = createServer((request, response) => {
    void json(request).then((traces) => {
      this.#spans.push(...spansOf(traces as ExportedTraces))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })

  /** Starts it, and waits until it takes spans. */
  static start(): Promise<OtelCollector> {
    return new OtelCollector('collector').begin()
  }

  /** Everything that it has exported. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans
  }

  override async stop(): Promise<void> {
    await super.stop()
    this.#backend.closeAllConnections()
    this.#backend.close()
  }

  protected async prepare(): Promise<TraceProgramStart> {
    const { OSM_OTEL_COLLECTOR: file = '' } = process.env
    if (file === '')
      throw new Error('OSM_OTEL_COLLECTOR names no collector; run the tests by `npm test`, which builds one')
    const backend = await listen(this.#backend, '127.0.0.1', 0)
    const ports = { otlp: await freePort(), zipkin: await freePort() }
    const path = join(this.folder, 'config.json')
    writeFileSync(path, JSON.stringify(configOf(ports, backend)))
    return { file, args: [`--config=file:${path}`], ports }
  }
}

function configOf(ports: TraceBackend['ports'], backend: number): object {
  const at = (port: number): string => `127.0.0.1:${port}`
  const exporter = { endpoint: `http://${at(backend)}`, encoding: 'json', compression: 'none' }
  return {
    receivers: {
      otlp: { protocols: { http: { endpoint: at(ports.otlp) } } },
      zipkin: { endpoint: at(ports.zipkin) },
    },
    exporters: { otlp_http: { ...exporter, sending_queue: { enabled: false } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp', 'zipkin'], exporters: ['otlp_http'] } },
    },
  }
}

const kinds: ReadonlyMap<number | undefined, CollectedSpan['kind']> = new Map([
  [2, 'server'],
  [3, 'client'],
])

function spansOf({ resourceSpans = [] }: ExportedTraces): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const { 'service.name': service = '' } = textsOf(resource.attributes)
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId = '', kind, attributes }) => ({
        traceId,
        spanId,
        parentSpanId,
        kind: kinds.get(kind) ?? 'other',
        service,
        attributes: textsOf(attributes),
      })),
    )
  })
}

function textsOf(attributes: readonly KeyValue[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? intValue ?? '']),
  )
}
