import { randomUUID } from 'node:crypto'

import type { LoadOptions, LoadResult } from './injection-load.js'
import { BENCH_NAMESPACE, benchPod } from './injection-pods.js'
import { ReviewConnections } from './review-connections.js'

// Asks the injector what an API server would, from its own process. Takes the options as its argument and prints the result, both JSON.

const options = JSON.parse(process.argv[2] ?? '') as LoadOptions
const { load } = options

function review(number: number): string {
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: BENCH_NAMESPACE,
      operation: 'CREATE',
      userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller' },
      object: benchPod(number),
      oldObject: null,
      dryRun: false,
    },
  })
}

/** Asks once; resolves when the whole answer is there, which must be a patch. */
async function ask(connections: ReviewConnections, request: Buffer): Promise<void> {
  const { status, body } = await connections.ask(request)
  if (status !== 200 || !body.includes('"allowed":true') || !body.includes('"patchType":"JSONPatch"'))
    throw new Error(`status ${status}: ${body.toString('utf8', 0, 300)}`)
}

/** As many as the injector can take: every connection asks again as soon as it has an answer. */
async function closedLoop(connections: ReviewConnections, seconds: number): Promise<LoadResult> {
  const latencies: number[] = []
  const start = performance.now()
  const end = start + seconds * 1000
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const request = connections.requestOf(review(latencies.length))
      const sent = performance.now()
      await ask(connections, request)
      latencies.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: options.connections }, worker))
  return { latencies, seconds: (performance.now() - start) / 1000 }
}

/** A review is put together before it is due: an API server has it ready. */
const AHEAD_MS = 5

/** At a fixed rate, whether or not the injector keeps up. */
async function openLoop(connections: ReviewConnections, perSecond: number, seconds: number): Promise<LoadResult> {
  const latencies: number[] = []
  const start = performance.now()
  const requests = Array.from({ length: Math.round(perSecond * seconds) }, async (_, index) => {
    const due = start + (index * 1000) / perSecond
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - AHEAD_MS - performance.now())))
    const request = connections.requestOf(review(index))
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
    // The timer of this process may be late or early, which is none of the injector's doing.
    const sent = performance.now()
    await ask(connections, request)
    latencies.push(performance.now() - sent)
  })
  await Promise.all(requests)
  return { latencies, seconds: (performance.now() - start) / 1000 }
}

type OpenLoad = Extract<LoadOptions['load'], { kind: 'open' }>

/**
 * In its first thousands of reviews this process compiles itself, which would be most of what is slow among those that count: at a hundred a second it would
 * take half a minute to get through them.
 */
async function openLoops(
  connections: ReviewConnections,
  { rates, seconds, warmUpSeconds }: OpenLoad,
): Promise<readonly LoadResult[]> {
  await closedLoop(connections, warmUpSeconds.closed)
  const results: LoadResult[] = []
  for (const rate of rates) {
    await openLoop(connections, rate, warmUpSeconds.open)
    results.push(await openLoop(connections, rate, seconds))
  }
  return results
}

const connections = await ReviewConnections.open(options)
const results =
  load.kind === 'closed' ? [await closedLoop(connections, load.seconds)] : await openLoops(connections, load)
console.log(JSON.stringify(results))
connections.close()
