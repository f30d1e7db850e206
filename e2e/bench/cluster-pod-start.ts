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
  /** Of a mesh whose sidecars have keys that their kubelet makes. */
  readonly ownKeys: TestNamespace
  readonly plain: TestNamespace
  /** Pods of each kind. */
  readonly rounds: number
}

const kinds = ['plain', 'meshed', 'ownKeys'] as const
type Kind = (typeof kinds)[number]

/** Milliseconds. */
export interface PodStartFigures {
  /** From the pod's place on a node to the first answer that its application got, with a sidecar and without. */
  readonly meshed: Summary
  readonly plain: Summary
  /** Difference of the medians. */
  readonly overhead: number
  readonly required: number
  readonly isMet: boolean
  /** The same where the kubelet makes the key and asks for its certificate, compared with sidecars whose key is in a Secret. */
  readonly ownKeys: Summary & { readonly overhead: number; readonly required: number; readonly isMet: boolean }
  /** What the creation of a pod took the API server, which asks the injector about meshed ones. */
  readonly creation: Readonly<Record<Kind, Summary>>
}

const requiredMs = 3000
const requiredOfOwnKeysMs = 500
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
 * Starts pods one after the other, in turns without a sidecar and with one of either kind, whose application calls its own server kind from its first
 * moment on.
 */
export async function measurePodStart(options: PodStartOptions): Promise<PodStartFigures> {
  const { api, meshed, ownKeys, plain, rounds } = options
  await Promise.all([meshed, ownKeys, plain].map(runServer))
  const watches = {
    meshed: await PodWatch.start(api, meshed.name),
    ownKeys: await PodWatch.start(api, ownKeys.name),
    plain: await PodWatch.start(api, plain.name),
  }
  const seen: Record<Kind, Start[]> = { meshed: [], ownKeys: [], plain: [] }
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const kind of kinds) {
        const start = await startOne(options, options[kind], watches[kind], `${app}-${round}`)
        // The first of each kind finds nothing in any cache of the node.
        if (round > 0) seen[kind].push(start)
      }
    }
  } finally {
    for (const kind of kinds) watches[kind].close()
  }
  const of = (kind: Kind, what: keyof Start): Summary => summarize(seen[kind].map((start) => start[what]))
  const figures = { meshed: of('meshed', 'toFirstAnswer'), plain: of('plain', 'toFirstAnswer') }
  const overhead = figures.meshed.p50 - figures.plain.p50
  const withOwnKeys = of('ownKeys', 'toFirstAnswer')
  const beyond = withOwnKeys.p50 - figures.meshed.p50
  return {
    ...figures,
    overhead,
    required: requiredMs,
    isMet: overhead < requiredMs,
    ownKeys: {
      ...withOwnKeys,
      overhead: beyond,
      required: requiredOfOwnKeysMs,
      isMet: beyond <= requiredOfOwnKeysMs,
    },
    creation: { meshed: of('meshed', 'creation'), ownKeys: of('ownKeys', 'creation'), plain: of('plain', 'creation') },
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
