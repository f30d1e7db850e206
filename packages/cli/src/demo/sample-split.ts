import http from 'node:http'

import type { ReportedRequest, RunningInstance } from '@osm-ts/standalone'

import { getFromInside, type InsideAnswer } from '../live/inside-workload.js'
import type { SplitProbe } from './demo-scene.js'

const lanes = 8
const timeoutMs = 5000

/** Where the requests of the split probe are sent from. */
export type ProbePlace =
  /** Through the forward proxy of a workload's sidecar. */
  | { readonly kind: 'proxy'; readonly proxy: URL }
  /** From the network namespace of a workload. */
  | { readonly kind: 'inside'; readonly pid: number; readonly nodeProgram: string }

/** The place from where the calls of an instance go out: in explicit mode its environment names its sidecar. */
export function probePlace(
  { environment, pid }: Pick<RunningInstance, 'environment' | 'pid'>,
  nodeProgram: string,
): ProbePlace | undefined {
  const proxy = environment['HTTP_PROXY'] ?? environment['http_proxy']
  if (proxy !== undefined) return { kind: 'proxy', proxy: new URL(proxy) }
  return pid === undefined ? undefined : { kind: 'inside', pid, nodeProgram }
}

interface SampleOptions {
  readonly signal: AbortSignal
  readonly now: () => number
  readonly onRequest: (request: ReportedRequest) => void
}

/** Sends the requests of the split probe as a workload would, and gives each answer to `onRequest`. */
export async function sampleSplit(place: ProbePlace, probe: SplitProbe, options: SampleOptions): Promise<void> {
  if (place.kind === 'proxy') return sampleByProxy(place.proxy, probe, options)
  const { target, path, client, host, requests } = probe
  const { signal, onRequest } = options
  const onAnswer = ({ time, durationMs, status, server }: InsideAnswer): void =>
    onRequest({
      time,
      client,
      namespace: '',
      target,
      path,
      durationMs,
      status,
      ...(server !== undefined && { server }),
    })
  await getFromInside({ ...place, url: `http://${host}${path}`, times: requests }, { signal, onAnswer })
}

/** A connection for each request, as the workloads do. */
async function sampleByProxy(
  proxy: URL,
  { target, path, client, host, requests }: SplitProbe,
  { signal, now, onRequest }: SampleOptions,
): Promise<void> {
  let left = requests
  const lane = async (): Promise<void> => {
    while (left > 0 && !signal.aborted) {
      left -= 1
      const started = now()
      const answer = await getByProxy(proxy, { host, path }, signal)
      const time = now()
      onRequest({ time, client, namespace: '', target, path, durationMs: time - started, ...answer })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** One request through a forward proxy. Status 0 stands for no answer. */
export async function getByProxy(
  proxy: URL,
  { host, path }: Pick<SplitProbe, 'host' | 'path'>,
  signal: AbortSignal,
): Promise<Pick<ReportedRequest, 'status' | 'server' | 'error'>> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ status: 0, error: error.message })
    const request = http.get(
      {
        host: proxy.hostname,
        port: proxy.port,
        path: `http://${host}${path}`,
        headers: { host },
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
