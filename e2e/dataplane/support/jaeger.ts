import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { eventually } from '@osm-ts/driver-api/toolkit'

import { ChildProgram } from '../../api/harness/index.js'
import { freePort } from '../../api/support/controller-process.js'
import type { CollectedSpan } from './otel-collector.js'
import type { TraceBackend } from './traced-chain.js'

interface Tag {
  readonly key: string
  readonly value: string | number | boolean
}

/** What the page of Jaeger reads, as far as it is read here. */
interface ShownTraces {
  readonly data: readonly {
    readonly spans: readonly {
      readonly traceID: string
      readonly spanID: string
      readonly processID: string
      readonly references: readonly { readonly refType: string; readonly spanID: string }[]
      readonly tags: readonly Tag[]
    }[]
    readonly processes: Readonly<Record<string, { readonly serviceName: string }>>
  }[]
}

const MAX_TRACES = 200

/** A real Jaeger, which set-up has built, with the settings of the chart. Its traces are read as its page reads them. */
export class Jaeger implements TraceBackend {
  readonly #folder = mkdtempSync(join(tmpdir(), 'osm-jaeger-'))
  readonly #service: string
  #program: ChildProgram | undefined
  #ports = { otlp: 0, zipkin: 0, query: 0 }
  #spans: readonly CollectedSpan[] = []

  private constructor(service: string) {
    this.#service = service
  }

  /**
   * Starts it, and waits until it takes spans.
   *
   * @param service - `service.name` of the first span of each trace that is read
   */
  static async start(service: string): Promise<Jaeger> {
    const jaeger = new Jaeger(service)
    try {
      await jaeger.#start()
    } catch (error) {
      await jaeger.stop()
      throw error
    }
    return jaeger
  }

  get ports(): TraceBackend['ports'] {
    return this.#ports
  }

  /** Those that it had when it was asked last. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans
  }

  readonly refresh = async (): Promise<void> => {
    const query = new URLSearchParams({ service: this.#service, limit: String(MAX_TRACES), lookback: '1h' })
    const answer = await fetch(`http://127.0.0.1:${this.#ports.query}/api/traces?${query.toString()}`)
    this.#spans = spansOf((await answer.json()) as ShownTraces)
  }

  async stop(): Promise<void> {
    await this.#program?.stop()
    rmSync(this.#folder, { recursive: true })
  }

  async #start(): Promise<void> {
    const { OSM_JAEGER: file = '' } = process.env
    if (file === '') throw new Error('OSM_JAEGER names no Jaeger; run the tests by `npm test`, which finds one')
    const host = '127.0.0.1'
    this.#ports = { otlp: await freePort(host), zipkin: await freePort(host), query: await freePort(host) }
    const at = async (): Promise<string> => `${host}:${await freePort(host)}`
    const program = new ChildProgram({
      name: 'jaeger',
      file,
      args: [],
      env: {
        // As in the chart.
        COLLECTOR_OTLP_ENABLED: 'true',
        COLLECTOR_OTLP_HTTP_HOST_PORT: `${host}:${this.#ports.otlp}`,
        COLLECTOR_ZIPKIN_HOST_PORT: `${host}:${this.#ports.zipkin}`,
        // Others of the machine may have the usual ports.
        QUERY_HTTP_SERVER_HOST_PORT: `${host}:${this.#ports.query}`,
        QUERY_GRPC_SERVER_HOST_PORT: await at(),
        COLLECTOR_OTLP_GRPC_HOST_PORT: await at(),
        COLLECTOR_GRPC_SERVER_HOST_PORT: await at(),
        COLLECTOR_HTTP_SERVER_HOST_PORT: await at(),
        ADMIN_HTTP_HOST_PORT: await at(),
      },
      logFile: join(this.#folder, 'log'),
    })
    this.#program = program
    await eventually(
      async () => {
        if (!program.isRunning) throw new Error(`Jaeger has ended:\n${program.lastWords()}`)
        const answers = await Promise.all([
          answersOk(`http://${host}:${this.#ports.otlp}/v1/traces`, '{}'),
          answersOk(`http://${host}:${this.#ports.zipkin}/api/v2/spans`, '[]'),
          answersOk(`http://${host}:${this.#ports.query}/api/services`),
        ])
        return answers.every(Boolean)
      },
      (isReady) => isReady,
      { what: 'Jaeger to take spans' },
    )
  }
}

async function answersOk(url: string, body?: string): Promise<boolean> {
  const sent = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const answer = await fetch(url, sent).catch(() => undefined)
  return answer?.ok === true
}

function spansOf({ data }: ShownTraces): readonly CollectedSpan[] {
  return data.flatMap(({ spans, processes }) =>
    spans.map(({ traceID, spanID, processID, references, tags }) => {
      const attributes = Object.fromEntries(tags.map(({ key, value }) => [key, String(value)]))
      const { 'span.kind': kind } = attributes
      return {
        traceId: traceID,
        spanId: spanID,
        parentSpanId: references.find(({ refType }) => refType === 'CHILD_OF')?.spanID ?? '',
        kind: kind === 'client' || kind === 'server' ? kind : 'other',
        service: processes[processID]?.serviceName ?? '',
        attributes,
      }
    }),
  )
}
