import type { Logger } from '@osm-ts/driver-api'

/** A log that is read by no one but the test. */
export class RecordingLogger implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: unknown }[] = []

  debug = (fields: unknown, message: string): void => this.#add('debug', fields, message)
  info = (fields: unknown, message: string): void => this.#add('info', fields, message)
  warn = (fields: unknown, message: string): void => this.#add('warn', fields, message)
  error = (fields: unknown, message: string): void => this.#add('error', fields, message)

  #add(level: string, fields: unknown, message: string): void {
    this.lines.push({ level, message, fields })
  }
}
