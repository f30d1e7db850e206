import type { ControllerContext } from '@osm-ts/driver-api'

import { processError } from '../wire/failure.js'
import type { Message } from '../wire/services.js'
import { isLogEntry, isMeasurement, isMetricDeclaration, type MetricDeclaration } from '../wire/telemetry.js'
import { parseDocument } from './declaration.js'

/** Metrics that one driver may declare. */
const MAX_METRICS = 200

type Observe = (labels: Readonly<Record<string, string>>, value: number) => void

/** Metrics and log of a driver, whichever of its processes they come from. A metric is declared once, however often the driver is started. */
export class RelayedTelemetry {
  readonly #context: Pick<ControllerContext, 'metrics' | 'logger'>
  readonly #metrics = new Map<string, Observe>()

  constructor(context: Pick<ControllerContext, 'metrics' | 'logger'>) {
    this.#context = context
  }

  /** @throws OsmError with code `OSM_DRIVER_PROTOCOL` */
  declare(value: unknown): void {
    for (const declaration of listOf(value, isMetricDeclaration, 'metric declarations')) {
      if (this.#metrics.has(declaration.name)) continue
      if (this.#metrics.size >= MAX_METRICS)
        throw processError('OSM_DRIVER_PROTOCOL', `a driver may declare ${MAX_METRICS} metrics`)
      this.#metrics.set(declaration.name, this.#observer(declaration))
    }
  }

  /** @throws OsmError with code `OSM_DRIVER_PROTOCOL` */
  measure(value: unknown): void {
    for (const { name, labels, value: amount } of listOf(value, isMeasurement, 'measurements')) {
      const observe = this.#metrics.get(name)
      if (observe === undefined)
        throw processError('OSM_DRIVER_PROTOCOL', `metric ${JSON.stringify(name)} was not declared`)
      observe(labels, amount)
    }
  }

  /** @throws OsmError with code `OSM_DRIVER_PROTOCOL` */
  log(entries: readonly Message<'logEntry'>[]): void {
    const lines = entries.map(({ fields, ...entry }) => ({ ...entry, fields: parseDocument(fields) }))
    for (const { level, fields, message } of listOf(lines, isLogEntry, 'log entries'))
      this.#context.logger[level](fields, message)
  }

  #observer({ kind, name, help, labels, buckets }: MetricDeclaration): Observe {
    const { metrics } = this.#context
    switch (kind) {
      case 'counter': {
        const counter = metrics.counter(name, help, labels)
        return (values, by) => counter.inc(values, by)
      }
      case 'gauge': {
        const gauge = metrics.gauge(name, help, labels)
        return (values, value) => gauge.set(values, value)
      }
      case 'histogram': {
        const histogram = metrics.histogram(name, help, labels, buckets)
        return (values, seconds) => histogram.observe(values, seconds)
      }
    }
  }
}

function listOf<T>(value: unknown, is: (item: unknown) => item is T, what: string): readonly T[] {
  if (Array.isArray(value) && value.every(is)) return value
  throw processError('OSM_DRIVER_PROTOCOL', `the driver sent no list of ${what}`)
}
