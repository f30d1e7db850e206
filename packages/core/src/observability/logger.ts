import type { DriverMetrics, Logger } from '@osm-ts/driver-api'
import { type DestinationStream, pino } from 'pino'
import { Listeners } from '@osm-ts/driver-api/toolkit'

/** Levels of `observability.osmLogLevel` and `--verbosity`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'disabled'

/** A logger whose level can change while it runs. */
export interface ProcessLogger extends Logger {
  setLevel(level: LogLevel): void
  /** A logger that adds `component` to every line. */
  child(component: string): ProcessLogger
  /** Calls back with the code of every warning and error that has one, logged or not; returns how to end that. */
  onErrorCode(listener: (code: string) => void): () => void
}

/** Field names that never leave the process, at any depth that we log. */
const REDACTED = [
  'privateKey',
  'key',
  'token',
  'authorization',
  'password',
  '*.privateKey',
  '*.key',
  '*.token',
  '*.authorization',
  '*.password',
]

/** Fields that each line has once. */
const OWN = ['level', 'component', 'time', 'message']

/**
 * One JSON object a line with `level`, `component`, `time` and `message`, the keys that users of OSM know.
 *
 * @param destination - where lines go; standard error where nothing is given, so that standard output stays the program's own
 */
export function createLogger(component: string, level: LogLevel, destination?: DestinationStream): ProcessLogger {
  const root = pino(
    {
      level: pinoLevel(level),
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
  const listeners = new Listeners<string>()
  const tell = ({ code }: Readonly<Record<string, unknown>>): void => {
    if (typeof code === 'string') listeners.notify(code)
  }
  const wrap = (name: string): ProcessLogger => {
    const bound = root.child({ component: name })
    return {
      debug: (fields, message) => {
        bound.debug(besideOwn(fields), message)
      },
      info: (fields, message) => {
        bound.info(besideOwn(fields), message)
      },
      warn: (fields, message) => {
        tell(fields)
        bound.warn(besideOwn(fields), message)
      },
      error: (fields, message) => {
        tell(fields)
        bound.error(besideOwn(fields), message)
      },
      setLevel: (next) => {
        root.level = pinoLevel(next)
        bound.level = pinoLevel(next)
      },
      child: wrap,
      onErrorCode: (listener) => listeners.add(listener),
    }
  }
  return wrap(component)
}

/**
 * Fields of the line itself are not for callers: a loaded driver or endpoints provider could give its lines the level of others, or another component. What is
 * given by those names stands under `given`.
 */
function besideOwn(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!OWN.some((name) => Object.hasOwn(fields, name))) return fields
  const entries = Object.entries(fields)
  const isOwn = ([name]: readonly [string, unknown]): boolean => OWN.some((own) => own === name)
  const given = Object.fromEntries(entries.filter(isOwn))
  return { ...Object.fromEntries(entries.filter((entry) => !isOwn(entry))), given }
}

function pinoLevel(level: LogLevel): string {
  return level === 'disabled' ? 'silent' : level
}

/** Counts warnings and errors of a program by their code, for as long as the program runs. */
export function countErrorCodes(logger: ProcessLogger, metrics: DriverMetrics): void {
  const codes = metrics.counter('osm_error_err_code_count', 'Warnings and errors by code', ['err_code'])
  logger.onErrorCode((code) => codes.inc({ err_code: code }))
}
