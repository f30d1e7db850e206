import http from 'node:http'

import type { ReportedRequest } from '@osm-ts/standalone'

import { splitProbe } from './bookstore.js'

const lanes = 8
const timeoutMs = 5000

/** Where a workload sends HTTP in explicit mode, by the environment it was given; undefined in transparent mode. */
export function forwardProxyOf(environment: Readonly<Record<string, string>>): URL | undefined {
  const value = environment['HTTP_PROXY'] ?? environment['http_proxy']
  return value === undefined ? undefined : new URL(value)
}

/**
 * Sends the requests of the split probe through a workload's sidecar, as the workload itself would, and gives each answer to `onRequest`.
 * A connection for each request, as the workloads do.
 */
export async function sampleSplit(
  proxy: URL,
  { signal, now, onRequest }: { signal: AbortSignal; now: () => number; onRequest: (request: ReportedRequest) => void },
): Promise<void> {
  let left: number = splitProbe.requests
  const lane = async (): Promise<void> => {
    while (left > 0 && !signal.aborted) {
      left -= 1
      const started = now()
      const answer = await ask(proxy, signal)
      const time = now()
      const { target, path, client } = splitProbe
      onRequest({ time, client, namespace: '', target, path, durationMs: time - started, ...answer })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Status 0 stands for no answer. */
async function ask(proxy: URL, signal: AbortSignal): Promise<Pick<ReportedRequest, 'status' | 'server' | 'error'>> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ status: 0, error: error.message })
    const request = http.get(
      {
        host: proxy.hostname,
        port: proxy.port,
        path: `http://${splitProbe.host}${splitProbe.path}`,
        headers: { host: splitProbe.host },
        agent: false,
        signal: limit,
      },
      (response) => {
        const server = response.headers['identity']
        response.on('error', fail)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, ...(typeof server === 'string' && { server }) }),
        )
        response.resume()
      },
    )
    request.on('error', fail)
  })
}
