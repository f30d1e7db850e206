import type { Logger } from '@osm-ts/driver-api'

/** A log that remembers its lines. */
export class MemoryLogger implements Logger {
  readonly lines: {
    readonly level: string
    readonly message: string
    readonly fields: Readonly<Record<string, unknown>>
  }[] = []

  debug(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push({ level: 'debug', message, fields })
  }

  info(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push({ level: 'info', message, fields })
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push({ level: 'warn', message, fields })
  }

  error(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push({ level: 'error', message, fields })
  }
}
