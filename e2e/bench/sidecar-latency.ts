import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { startPlainEnvoys } from './plain-envoys.js'
import { applicationOf, AUTHORITY, type MeshPrograms, proxyAddress, startOneServerMesh } from './sidecar-mesh.js'
import { type Summary, round, summarize } from './statistics.js'

/** What a pair of sidecars costs a request, beside a pair of Envoys of the same version that were configured by hand. All in one run, request by request in turn. */
export interface SidecarLatency {
  /** Milliseconds from the client to the server and back, without any proxy. */
  readonly direct: Summary
  /** Milliseconds through two Envoys with mutual TLS between them and nothing else. */
  readonly plainEnvoys: Summary
  /** Milliseconds through the sidecars of client and server, under SMI policy. */
  readonly sidecars: Summary
  /** Milliseconds that each pair adds to `direct`. */
  readonly added: { readonly plainEnvoys: Percentiles; readonly sidecars: Percentiles }
  /** `sidecars` divided by `plainEnvoys`, of the whole and of what is added. */
  readonly ratio: { readonly whole: Percentiles; readonly added: Percentiles }
}

interface Percentiles {
  readonly p50: number
  readonly p99: number
}

/** What is measured. */
export interface SidecarLatencyOptions extends MeshPrograms {
  readonly requests: number
  readonly warmUp: number
  readonly server: string
  readonly idle: string
  /** Bundle of sidecar-latency-load-main.ts. */
  readonly loadProgram: string
}

/** What the load is told: where to send which bytes. */
export interface LatencyLoad {
  readonly paths: Readonly<Record<string, { readonly host: string; readonly port: number; readonly bytes: string }>>
  readonly warmUp: number
  readonly requests: number
}

/** Milliseconds of each request, by path. */
export type LatencySamples = Readonly<Record<string, readonly number[]>>

/** Measures {@link SidecarLatency}. */
export async function measureSidecarLatency(options: SidecarLatencyOptions): Promise<SidecarLatency> {
  const mesh = await startOneServerMesh(options)
  try {
    const application = applicationOf(mesh)
    const { client, stop } = await startPlainEnvoys(options.envoy, join(mesh.stateFolder, 'plain'), application)
    try {
      const samples = await run(options, {
        direct: { ...application, bytes: requestTo('') },
        plainEnvoys: { ...client, bytes: requestTo(`http://${AUTHORITY}`) },
        sidecars: { ...proxyAddress(mesh, 'bench/client'), bytes: requestTo(`http://${AUTHORITY}`) },
      })
      return compared(samples)
    } finally {
      await stop()
    }
  } finally {
    await mesh.stop()
  }
}

function requestTo(base: string): string {
  return `GET ${base}/books/1 HTTP/1.1\r\nhost: ${AUTHORITY}\r\n\r\n`
}

async function run(
  { loadProgram, warmUp, requests }: SidecarLatencyOptions,
  paths: LatencyLoad['paths'],
): Promise<LatencySamples> {
  const load = fork(loadProgram, { execArgv: [] })
  load.send({ paths, warmUp, requests } satisfies LatencyLoad)
  let samples: LatencySamples | undefined
  load.once('message', (message) => {
    // The only message of sidecar-latency-load-main.ts.
    samples = message as LatencySamples
  })
  // Comes after every message, and when the process ends early.
  await once(load, 'disconnect')
  if (samples === undefined) throw new Error('the load ended without a result')
  return samples
}

function compared(samples: LatencySamples): SidecarLatency {
  const of = (path: string): Summary => summarize(samples[path] ?? [])
  const [direct, plainEnvoys, sidecars] = [of('direct'), of('plainEnvoys'), of('sidecars')]
  const added = { plainEnvoys: difference(plainEnvoys, direct), sidecars: difference(sidecars, direct) }
  return {
    direct,
    plainEnvoys,
    sidecars,
    added,
    ratio: { whole: quotient(sidecars, plainEnvoys), added: quotient(added.sidecars, added.plainEnvoys) },
  }
}

function difference(a: Percentiles, b: Percentiles): Percentiles {
  return { p50: round(a.p50 - b.p50), p99: round(a.p99 - b.p99) }
}

function quotient(a: Percentiles, b: Percentiles): Percentiles {
  return { p50: round(a.p50 / b.p50), p99: round(a.p99 / b.p99) }
}
