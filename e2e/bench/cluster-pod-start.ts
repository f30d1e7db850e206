import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { nodeProgram, PodWatch } from './cluster-pods.js'
import { summarize, type Summary } from './statistics.js'
import type { Kubectl } from '../cluster/kubectl.js'
import type { TestNamespace } from '../cluster/support/test-namespace.js'
import { server } from '../cluster/support/workloads.js'

/** Where pods start, meshed and not. */
export interface PodStartOptions {
  readonly api: KubernetesApi
  readonly kubectl: Kubectl
  readonly meshed: TestNamespace
  readonly plain: TestNamespace
  /** Pods of each kind. */
  readonly rounds: number
}

/** Milliseconds. */
export interface PodStartFigures {
  /** From the pod's place on a node to the first answer that its application got, with a sidecar and without. */
  readonly meshed: Summary
  readonly plain: Summary
  /** Difference of the medians. */
  readonly overhead: number
  readonly required: number
  readonly isMet: boolean
  /** What the creation of a pod took the API server, which asks the injector about meshed ones. */
  readonly creation: { readonly meshed: Summary; readonly plain: Summary }
}

const requiredMs = 3000
const timeoutMs = 120_000
const app = 'first-call'

/** Asks until it is answered, and says when that was. */
const script = `
const http = require('node:http')
let attempts = 0
const ask = () => {
  attempts += 1
  const again = () => setTimeout(ask, 10)
  http.get(process.argv[1], { agent: false }, (response) => {
    response.resume()
    if (response.statusCode !== 200) return again()
    console.log(JSON.stringify({ at: Date.now(), attempts }))
  }).on('error', again)
}
ask()
`

/**
 * Starts pods one after the other, in turns with a sidecar and without, whose application calls its own server kind from its first
 * moment on.
 */
export async function measurePodStart(options: PodStartOptions): Promise<PodStartFigures> {
  const { meshed, plain, rounds } = options
  await Promise.all([meshed, plain].map(runServer))
  const watches = {
    meshed: await PodWatch.start(options.api, meshed.name),
    plain: await PodWatch.start(options.api, plain.name),
  }
  const seen: Record<'meshed' | 'plain', Start[]> = { meshed: [], plain: [] }
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const kind of ['plain', 'meshed'] as const) {
        const start = await startOne(options, options[kind], watches[kind], `${app}-${round}`)
        // The first of each kind finds nothing in any cache of the node.
        if (round > 0) seen[kind].push(start)
      }
    }
  } finally {
    watches.meshed.close()
    watches.plain.close()
  }
  const of = (kind: 'meshed' | 'plain', what: keyof Start): Summary => summarize(seen[kind].map((start) => start[what]))
  const figures = { meshed: of('meshed', 'toFirstAnswer'), plain: of('plain', 'toFirstAnswer') }
  const overhead = figures.meshed.p50 - figures.plain.p50
  return {
    ...figures,
    overhead,
    required: requiredMs,
    isMet: overhead < requiredMs,
    creation: { meshed: of('meshed', 'creation'), plain: of('plain', 'creation') },
  }
}

/** What the pods call, and the account that they run as. */
function runServer(namespace: TestNamespace): Promise<void> {
  const { name, image } = namespace
  return namespace.run(server({ name: 'server', namespace: name, image, ports: { 8080: 'http' } }), {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { namespace: name, name: app },
  })
}

/** Milliseconds. */
interface Start {
  readonly creation: number
  readonly toFirstAnswer: number
}

async function startOne(
  { api, kubectl }: PodStartOptions,
  { name: namespace, image }: TestNamespace,
  watch: PodWatch,
  name: string,
): Promise<Start> {
  const end = new AbortController()
  const before = performance.now()
  await api.create(resourceTypes.Pod, podManifest(namespace, name, image), { signal: end.signal })
  const creation = performance.now() - before
  const scheduled = await watch.until(name, 'scheduled', ({ spec }) => spec.nodeName !== undefined, timeoutMs)
  await watch.until(name, 'done', ({ status }) => status.phase === 'Succeeded', timeoutMs)
  const { at } = JSON.parse(await kubectl.run(['logs', name, '-c', 'app', '-n', namespace])) as { readonly at: number }
  await kubectl.run(['delete', 'pod', name, '-n', namespace])
  return { creation, toFirstAnswer: at - scheduled }
}

function podManifest(namespace: string, name: string, image: string) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app } },
    spec: {
      serviceAccountName: app,
      restartPolicy: 'Never',
      containers: [
        {
          name: 'app',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: [nodeProgram, '-e', script, `http://server.${namespace}:8080/`],
        },
      ],
    },
  }
}
