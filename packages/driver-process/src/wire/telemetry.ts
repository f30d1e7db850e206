import type { Logger } from '@osm-ts/driver-api'
import { isRecord } from '@osm-ts/driver-api/toolkit'

/** What a driver measures with, before it measures. */
export interface MetricDeclaration {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  /** Of a histogram: upper bounds in seconds. */
  readonly buckets: readonly number[]
}

/** One measurement of a declared metric. */
export interface Measurement {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A line of a driver's log. */
export interface LogEntry {
  readonly level: keyof Logger
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
/** Never converts: a driver may send an object that has no text. */
const isOneOf = (value: unknown, known: readonly unknown[]): boolean => known.includes(value)
const isTextRecord = (value: unknown): boolean => isRecord(value) && Object.values(value).every(isText)

export function isMetricDeclaration(value: unknown): value is MetricDeclaration {
  return (
    isRecord(value) &&
    isOneOf(value['kind'], ['counter', 'gauge', 'histogram']) &&
    isText(value['name']) &&
    isText(value['help']) &&
    Array.isArray(value['labels']) &&
    value['labels'].every(isText) &&
    Array.isArray(value['buckets']) &&
    value['buckets'].every(isNumber)
  )
}

export function isMeasurement(value: unknown): value is Measurement {
  return isRecord(value) && isText(value['name']) && isTextRecord(value['labels']) && isNumber(value['value'])
}

export function isLogEntry(value: unknown): value is LogEntry {
  return (
    isRecord(value) &&
    isOneOf(value['level'], ['debug', 'info', 'warn', 'error']) &&
    isRecord(value['fields']) &&
    isText(value['message'])
  )
}
