import { freePort } from '../../api/support/controller-process.js'
import { TraceProgram, type TraceProgramStart } from './trace-program.js'
import type { CollectedSpan } from './traced-chain.js'

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
export class Jaeger extends TraceProgram {
  readonly #service: string
  #query = ''
  #spans: readonly CollectedSpan[] = []

  private constructor(service: string) {
    super('jaeger')
    this.#service = service
  }

  /**
   * Starts it, and waits until it takes spans.
   *
   * @param service - `service.name` of the first span of each trace that is read
   */
  static start(service: string): Promise<Jaeger> {
    return new Jaeger(service).begin()
  }

  /** Those that it had when it was asked last. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans
  }

  readonly refresh = async (): Promise<void> => {
    const query = new URLSearchParams({ service: this.#service, limit: String(MAX_TRACES), lookback: '1h' })
    const answer = await fetch(`http://${this.#query}/api/traces?${query.toString()}`)
    this.#spans = spansOf((await answer.json()) as ShownTraces)
  }

  protected async prepare(): Promise<TraceProgramStart> {
    const { OSM_JAEGER: file = '' } = process.env
    if (file === '') throw new Error('OSM_JAEGER names no Jaeger; run the tests by `npm test`, which finds one')
    const ports = { otlp: await freePort(), zipkin: await freePort() }
    const at = async (): Promise<string> => `127.0.0.1:${await freePort()}`
    this.#query = await at()
    const env = {
      // As in the chart.
      COLLECTOR_OTLP_ENABLED: 'true',
      COLLECTOR_OTLP_HTTP_HOST_PORT: `127.0.0.1:${ports.otlp}`,
      COLLECTOR_ZIPKIN_HOST_PORT: `127.0.0.1:${ports.zipkin}`,
      // Others of the machine may have the usual ports.
      QUERY_HTTP_SERVER_HOST_PORT: this.#query,
      QUERY_GRPC_SERVER_HOST_PORT: await at(),
      COLLECTOR_OTLP_GRPC_HOST_PORT: await at(),
      COLLECTOR_GRPC_SERVER_HOST_PORT: await at(),
      COLLECTOR_HTTP_SERVER_HOST_PORT: await at(),
      ADMIN_HTTP_HOST_PORT: await at(),
    }
    return { file, env, ports, answering: [`http://${this.#query}/api/services`] }
  }
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
