import { isRecord } from '@osm-ts/driver-api/toolkit'

import type { ReportedRequest } from '../types.js'

/** The request that a line of a workload's output reports, or undefined if it is some other line. */
export function parseReportedRequest(
  line: string,
  instance: { readonly name: string; readonly namespace: string },
): ReportedRequest | undefined {
  if (!line.startsWith('{')) return undefined
  const value = tryParse(line)
  if (!isRecord(value)) return undefined
  const { t, target, path, status, ms, server, error } = value
  if (typeof t !== 'number' || typeof ms !== 'number' || typeof status !== 'number') return undefined
  if (typeof target !== 'string' || typeof path !== 'string') return undefined
  return {
    time: t,
    client: instance.name,
    namespace: instance.namespace,
    target,
    path,
    status,
    ...(typeof server === 'string' && { server }),
    ...(typeof error === 'string' && { error }),
    durationMs: ms,
  }
}

function tryParse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
