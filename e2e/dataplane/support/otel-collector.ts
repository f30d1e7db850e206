import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { eventually } from '@osm-ts/driver-api/toolkit'

import { ChildProgram } from '../../api/harness/index.js'
import { freePort } from '../../api/support/controller-process.js'

/** A span as the collector passes it on. */
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
export class OtelCollector {
  readonly #folder = mkdtempSync(join(tmpdir(), 'osm-collector-'))
  readonly #spans: CollectedSpan[] = []
  readonly #backend: Server
  #program: ChildProgram | undefined
  #ports = { otlp: 0, zipkin: 0 }

  private constructor() {
    this.#backend = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.#spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString()) as ExportedTraces))
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    })
  }

  /** Starts it, and waits until it takes spans. */
  static async start(): Promise<OtelCollector> {
    const collector = new OtelCollector()
    try {
      await collector.#start()
    } catch (error) {
      await collector.stop()
      throw error
    }
    return collector
  }

  /** Ports of the loopback. */
  get ports(): { readonly otlp: number; readonly zipkin: number } {
    return this.#ports
  }

  /** Everything that it has exported. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans
  }

  async stop(): Promise<void> {
    await this.#program?.stop()
    this.#backend.closeAllConnections()
    this.#backend.close()
    rmSync(this.#folder, { recursive: true })
  }

  async #start(): Promise<void> {
    const { OSM_OTEL_COLLECTOR: file = '' } = process.env
    if (file === '')
      throw new Error('OSM_OTEL_COLLECTOR names no collector; run the tests by `npm test`, which builds one')
    await new Promise<void>((resolve) => this.#backend.listen(0, '127.0.0.1', resolve))
    this.#ports = { otlp: await freePort('127.0.0.1'), zipkin: await freePort('127.0.0.1') }
    const config = join(this.#folder, 'config.json')
    writeFileSync(config, JSON.stringify(this.#config()))
    const program = new ChildProgram({
      name: 'otel-collector',
      file,
      args: [`--config=file:${config}`],
      env: {},
      logFile: join(this.#folder, 'log'),
    })
    this.#program = program
    const empty = { otlp: ['/v1/traces', '{}'], zipkin: ['/api/v2/spans', '[]'] } as const
    const takes = async (format: keyof typeof empty): Promise<boolean> => {
      if (!program.isRunning) throw new Error(`the collector has ended:\n${program.lastWords()}`)
      const [path, body] = empty[format]
      const url = `http://127.0.0.1:${this.#ports[format]}${path}`
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(
        () => undefined,
      )
      return answer?.ok === true
    }
    await eventually(
      async () => (await takes('otlp')) && (await takes('zipkin')),
      (isReady) => isReady,
      { what: 'the collector to take spans' },
    )
  }

  #config(): object {
    const at = (port: number): string => `127.0.0.1:${port}`
    const { port } = this.#backend.address() as AddressInfo
    return {
      receivers: {
        otlp: { protocols: { http: { endpoint: at(this.#ports.otlp) } } },
        zipkin: { endpoint: at(this.#ports.zipkin) },
      },
      exporters: {
        otlp_http: {
          endpoint: `http://${at(port)}`,
          encoding: 'json',
          compression: 'none',
          sending_queue: { enabled: false },
        },
      },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp', 'zipkin'], exporters: ['otlp_http'] } },
      },
    }
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
