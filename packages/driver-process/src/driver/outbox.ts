import type { Logger } from '@osm-ts/driver-api'

import type { LogEntry, Measurement, MetricDeclaration } from '../wire/telemetry.js'

/** Lines and measurements that wait at most; more are lost, and how many is logged. */
const CAPACITY = 10_000
const BATCH = 500

/** Where an {@link Outbox} delivers to. */
export interface OutboxTarget {
  declare(declarations: readonly MetricDeclaration[]): Promise<void>
  measure(measurements: readonly Measurement[]): Promise<void>
  log(entries: readonly LogEntry[]): Promise<void>
}

/** Metrics and log lines on their way to the host: said without waiting, delivered in batches and in order. */
export class Outbox {
  readonly #target: OutboxTarget
  readonly #declarations: MetricDeclaration[] = []
  readonly #measurements: Measurement[] = []
  readonly #entries: LogEntry[] = []
  #lost = 0
  #isDelivering = false

  constructor(target: OutboxTarget) {
    this.#target = target
  }

  declare(declaration: MetricDeclaration): void {
    this.#declarations.push(declaration)
    this.#deliver()
  }

  measure(measurement: Measurement): void {
    this.#keep(this.#measurements, measurement)
  }

  readonly logger: Logger = {
    debug: (fields, message) => this.#log({ level: 'debug', fields, message }),
    info: (fields, message) => this.#log({ level: 'info', fields, message }),
    warn: (fields, message) => this.#log({ level: 'warn', fields, message }),
    error: (fields, message) => this.#log({ level: 'error', fields, message }),
  }

  #log(entry: LogEntry): void {
    this.#keep(this.#entries, entry)
  }

  #keep<T>(queue: T[], item: T): void {
    if (queue.length >= CAPACITY) {
      queue.shift()
      this.#lost += 1
    }
    queue.push(item)
    this.#deliver()
  }

  #deliver(): void {
    // A host that is gone takes nothing any more, and the driver is about to be stopped.
    if (this.#isDelivering) return
    this.#isDelivering = true
    this.#drain().catch(() => this.#clear())
  }

  async #drain(): Promise<void> {
    // What is said in one turn goes in one batch.
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
    while (this.#declarations.length + this.#measurements.length + this.#entries.length > 0) {
      const declarations = this.#declarations.splice(0, BATCH)
      if (declarations.length > 0) await this.#target.declare(declarations)
      const entries = this.#entries.splice(0, BATCH)
      if (entries.length > 0) await this.#target.log(entries)
      const measurements = this.#measurements.splice(0, BATCH)
      if (measurements.length > 0) await this.#target.measure(measurements)
      if (this.#lost > 0) {
        const lost = this.#lost
        this.#lost = 0
        this.#entries.push({ level: 'warn', fields: { lost }, message: 'log lines or measurements were lost' })
      }
    }
    // In the same turn as the last look: what is said from now on goes into a new batch.
    this.#isDelivering = false
  }

  #clear(): void {
    this.#isDelivering = false
    for (const queue of [this.#declarations, this.#measurements, this.#entries]) queue.length = 0
  }
}
