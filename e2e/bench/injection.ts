import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { manifests } from '@osm-ts/core/testing'

import { BaselineServer, type ServerKey } from './baseline-server.js'
import { type LoadOptions, type LoadResult, runLoad } from './injection-load.js'
import { BENCH_NAMESPACE, injectedNamespace, meshConfigSpec } from './injection-pods.js'
import { InjectorProgram } from './injection-program.js'
import { startIssuer } from './issuer.js'
import { writeKubeconfig } from './local-api.js'
import { MeshApi } from './scale/api.js'
import { cpuMsOf, residentMiBOf } from './scale/process-figures.js'
import { round, type Summary, summarize } from './statistics.js'

/** How long and with what the injector is measured. */
export interface InjectionOptions {
  readonly closedSeconds: number
  /** Of each rate. */
  readonly openSeconds: number
  /** The server compiles itself meanwhile; so does the load, see {@link LoadOptions}. */
  readonly warmUpSeconds: { readonly server: number; readonly closed: number; readonly open: number }
  /** Bundles of osm-injector, of its API server, of the floor and of the load. */
  readonly programs: { readonly injector: string; readonly api: string; readonly floor: string; readonly load: string }
}

/** Milliseconds of a review, and how many there were. */
export interface InjectionResult {
  /** What the figures are of, in words. */
  readonly measured: {
    readonly processorTime: string
    readonly latency: string
    readonly warmUp: string
  }
  readonly closedLoop: ClosedLoop
  readonly openLoop: readonly OpenLoop[]
  readonly residentMiB: number
  /** The same load on a server that reads no pod and issues nothing, see floor-reviews.ts. */
  readonly floor: { readonly closedLoop: ClosedLoop; readonly openLoop: readonly OpenLoop[] }
  /** What injection costs by what the floor does; latencies are those of a hundred a second. */
  readonly ratio: { readonly processorTime: number; readonly p50: number; readonly p99: number }
}

/** Every connection asks again as soon as it has an answer. */
export interface ClosedLoop {
  readonly reviewsPerSecond: number
  /** What one core would do that has nothing else to do: reviews by processor time of the server. */
  readonly reviewsPerCpuSecond: number
  readonly latency: Summary
}

/** At a fixed rate. */
export interface OpenLoop {
  readonly perSecond: number
  readonly latency: Summary
}

/** A server that is measured. */
interface Measured {
  readonly url: string
  readonly serverName: string
  /** PEM. */
  readonly ca: string
  readonly pid: number
}

const CONNECTIONS = 8
/** Of the floor, as its certificate has it. */
const FLOOR_NAME = 'floor.osm-system.svc'
/** Of these the floor is asked as well. */
const COMPARED_RATE = 100
const RATES: readonly number[] = [50, COMPARED_RATE, 500]

/**
 * Reviews of pods by osm-injector as a process, asked by another process, with every Secret written to an API server in a third: first as many as it takes,
 * then at fixed rates. Then the same of the floor, at one rate.
 */
export async function measureInjection(options: InjectionOptions): Promise<InjectionResult> {
  const { programs, warmUpSeconds: warmUp } = options
  const folder = mkdtempSync(join(tmpdir(), 'osm-injection-'))
  const api = await MeshApi.start(programs.api)
  try {
    await api.put([injectedNamespace, manifests.meshConfig(meshConfigSpec)])
    await api.forgetSecrets(BENCH_NAMESPACE)
    const kubeconfig = writeKubeconfig(folder, api.url)
    const injector = await InjectorProgram.start(programs.injector, { kubeconfig, address: '127.0.0.1' })
    let product
    try {
      product = {
        ...(await measure(
          {
            url: `https://127.0.0.1:${injector.webhookPort}/mutate-pod-creation`,
            serverName: 'osm-injector.osm-system.svc',
            ca: await rootOf(api.url),
            pid: injector.pid,
          },
          options,
          RATES,
        )),
        residentMiB: round(await residentMiBOf(injector.pid)),
      }
    } finally {
      await injector.stop()
    }
    const floor = await measureFloor(api.url, options)
    const [ours, bare] = [comparedLatency(product.openLoop), comparedLatency(floor.openLoop)]
    return {
      measured: {
        processorTime:
          'of the server with all of its threads; load generator and API server are processes of their own',
        latency:
          'as the load generator sees it: TLS, the review and the Secret at the API server; it shares the cores with both',
        warmUp: `${warmUp.server} s of as many reviews as possible; before fixed rates, ${warmUp.closed} s of as many as possible by the process that then asks at those rates, and ${warmUp.open} s of each rate before it counts`,
      },
      ...product,
      floor,
      ratio: {
        processorTime: round(floor.closedLoop.reviewsPerCpuSecond / product.closedLoop.reviewsPerCpuSecond),
        p50: round(ours.p50 / bare.p50),
        p99: round(ours.p99 / bare.p99),
      },
    }
  } finally {
    await api.close()
    rmSync(folder, { recursive: true })
  }
}

async function measureFloor(api: string, options: InjectionOptions): Promise<InjectionResult['floor']> {
  const floor = await BaselineServer.start(options.programs.floor)
  try {
    const key = await floorKey()
    const port = await floor.listenForReviews(key, api, BENCH_NAMESPACE)
    return await measure(
      { url: `https://127.0.0.1:${port}/`, serverName: FLOOR_NAME, ca: key.clientRoots, pid: floor.pid },
      options,
      [COMPARED_RATE],
    )
  } finally {
    await floor.close()
  }
}

/** The roots verify its certificate. */
async function floorKey(): Promise<ServerKey> {
  const end = new AbortController()
  const { issuer, provider, roots } = await startIssuer(end.signal)
  const names = { dnsNames: [FLOOR_NAME], ipAddresses: [] }
  const issued = await issuer.issueCertificate({ kind: 'control-plane', name: 'floor', ...names }, { keep: false })
  end.abort()
  provider.close()
  return { chain: issued.chain, privateKey: issued.privateKey(), clientRoots: roots }
}

async function measure(
  { pid, ...target }: Measured,
  { programs, warmUpSeconds, closedSeconds, openSeconds }: InjectionOptions,
  rates: readonly number[],
): Promise<{ readonly closedLoop: ClosedLoop; readonly openLoop: readonly OpenLoop[] }> {
  const run = (load: LoadOptions['load']) => runLoad(programs.load, { ...target, connections: CONNECTIONS, load })
  const closedLoop = async (seconds: number): Promise<LoadResult> => {
    const [result] = await run({ kind: 'closed', seconds })
    if (result === undefined) throw new Error('the load gave no result')
    return result
  }
  await closedLoop(warmUpSeconds.server)
  const { result: closed, cpuMs } = await cpuMsOf(pid, () => closedLoop(closedSeconds))
  const open = await run({ kind: 'open', seconds: openSeconds, rates, warmUpSeconds })
  return {
    closedLoop: {
      reviewsPerSecond: round(closed.latencies.length / closed.seconds),
      reviewsPerCpuSecond: round((closed.latencies.length * 1000) / cpuMs),
      latency: summarize(closed.latencies),
    },
    openLoop: rates.map((perSecond, index) => ({ perSecond, latency: summarize(open[index]?.latencies ?? []) })),
  }
}

function comparedLatency(loops: readonly OpenLoop[]): Summary {
  const loop = loops.find(({ perSecond }) => perSecond === COMPARED_RATE)
  if (loop === undefined) throw new Error(`nothing was asked ${COMPARED_RATE} times a second`)
  return loop.latency
}

/** The root that the injector has made for the control plane. */
async function rootOf(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/namespaces/osm-system/secrets/osm-ca-bundle-control-plane`)
  const { data } = (await response.json()) as { readonly data: Readonly<Record<string, string>> }
  return Buffer.from(data['ca.crt'] ?? '', 'base64').toString('utf8')
}
