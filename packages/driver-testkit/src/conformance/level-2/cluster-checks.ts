import type { CallAnswer } from '../../actor/protocol.js'
import { judge } from '../../scenarios/judge.js'
import { type Check, expect, type Need } from '../check.js'
import { type LoadOptions, whileSending } from '../load.js'
import { type ClusterFixture, isAnswered, isRefused, sidecarOf } from './cluster-fixture.js'
import { allow, split, workloadObjects } from './manifests.js'
import { type Prove, undeclaredChecks } from './undeclared-checks.js'

/** More than all that one check waits for, in milliseconds; the first of them waits for images. */
const TIME_LIMIT_MS = 420_000
const SPLIT_REQUESTS = 200
const PARALLEL = 10
/** For so long a pod that is never to be ready is watched; others are ready in less. */
const UNREADY_MS = 5_000
const uuidLabel = 'osm-proxy-uuid'

/** What a driver has to hold in a cluster, one after the other on the same fixture. */
export function clusterChecks(fixture: ClusterFixture): readonly Check[] {
  const check = (name: string, proves: string, prove: Prove, needs: readonly Need[] = []): Check => ({
    id: `cluster.${name}`,
    proves,
    // Pods are intercepted.
    needs: ['mode:transparent', ...needs],
    timeoutMs: TIME_LIMIT_MS,
    prove: async (_subject, signal) => {
      await fixture.begin(signal)
      await prove(fixture, signal)
    },
  })
  return [
    check('injection', 'pods of the mesh get a sidecar of the class, and become ready', injection),
    check(
      'identity',
      'who is outside the mesh is refused, with and without TLS, where who is inside is answered',
      identity,
    ),
    check('traffic-target', 'a TrafficTarget opens what it names to whom it names, and nothing else', trafficTarget),
    check('traffic-split', 'a TrafficSplit shares requests out by weight', trafficSplit),
    check('tcp', 'a TCPRoute lets connections through, for the account that is named alone', tcp),
    check(
      'policy-removal',
      'what a policy has opened is closed when it is gone, and opened by it again',
      policyRemoval,
    ),
    check('probes', 'kubelets reach the application behind the sidecar, and learn what it says itself', probes, [
      'probes-http',
    ]),
    check('rolling-restart', 'a rolling restart under load loses no request', rollingRestart),
    check(
      'controller-restart',
      'while the controller is away every request is answered that may be, and no other; afterwards changes are applied',
      controllerRestart,
    ),
    ...undeclaredChecks(fixture, check),
  ]
}

const serverUrl = (fixture: ClusterFixture, path = '/open'): string => `http://server.${fixture.namespace}:8080${path}`

async function isOpen(fixture: ClusterFixture, signal: AbortSignal, from = 'client'): Promise<void> {
  const url = serverUrl(fixture)
  await fixture.becomes(`${from} is answered by the server`, () => fixture.get(from, url), isAnswered, signal)
}

async function isClosed(fixture: ClusterFixture, signal: AbortSignal, from: string): Promise<void> {
  const url = serverUrl(fixture)
  await fixture.becomes(`${from} is refused by the server`, () => fixture.get(from, url), isRefused, signal)
}

async function injection(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const { sidecarClass } = fixture.options
  for (const { name } of fixture.workloads()) {
    const pods = await fixture.pods(name, signal)
    expect(pods.length > 0, `${name} has no pod`)
    for (const pod of pods) {
      const { labels = {}, annotations = {} } = pod.metadata
      expect(labels[uuidLabel] !== undefined, `a pod of ${name} has no label ${uuidLabel}: it was not injected`)
      expect(sidecarOf(pod) !== undefined, `a pod of ${name} has no sidecar`)
      const given = annotations['openservicemesh.io/sidecar-class']
      expect(given === sidecarClass, `a pod of ${name} has a sidecar of class ${given ?? 'unknown'}`)
    }
  }
}

async function identity(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const own = `http://stranger.${fixture.outside}:8080/`
  const stranger = 'outside/stranger'
  await isOpen(fixture, signal)
  // What refuses it below is the mesh, not the network.
  await fixture.becomes('who is outside reaches its own kind', () => fixture.get(stranger, own), isAnswered, signal)
  await isClosed(fixture, signal, stranger)
  const url = serverUrl(fixture)
  const byTls = (): Promise<CallAnswer> => fixture.get(stranger, url, fixture.meshTls('server'))
  await fixture.becomes('who shows no certificate is refused', byTls, isRefused, signal)
}

async function trafficTarget(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  await isOpen(fixture, signal)
  await isClosed(fixture, signal, 'thief')
  const closed = serverUrl(fixture, '/closed')
  await fixture.becomes('a path that is not named is refused', () => fixture.get('client', closed), isRefused, signal)
  const more = allow(fixture.namespace, 'thief', 'server', 'http')
  await fixture.apply([more], signal)
  await isOpen(fixture, signal, 'thief')
  await fixture.remove([more], signal)
  await isClosed(fixture, signal, 'thief')
}

async function trafficSplit(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const { namespace } = fixture
  const shares = { server: 0.75, twin: 0.25 }
  const http = `GET http://all.${namespace}:8080/open`
  const ask = (): Promise<CallAnswer> => fixture.get('client', `http://all.${namespace}:8080/open`)
  const weights = split(namespace, 'all', { server: 75, twin: 25 })
  await fixture.apply([weights], signal)
  const deadline = performance.now() + TIME_LIMIT_MS / 4
  for (;;) {
    signal.throwIfAborted()
    const answers: CallAnswer[] = []
    while (answers.length < SPLIT_REQUESTS)
      answers.push(...(await Promise.all(Array.from({ length: PARALLEL }, () => ask()))))
    const faults = judge({ kind: 'http', from: 'client', http, status: 200, shares }, answers)
    if (faults.length === 0) break
    expect(performance.now() < deadline, faults.join('; '))
  }
  await fixture.remove([weights], signal)
}

async function tcp(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const address = `echo.${fixture.namespace}:9000`
  const from = (workload: string) => () => fixture.send(workload, address, 'hello')
  const echoed = ({ received }: CallAnswer): boolean => received === 'hello'
  await fixture.becomes('a line comes back', from('client'), echoed, signal)
  await fixture.becomes('a connection of another account is refused', from('thief'), isRefused, signal)
}

async function policyRemoval(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const policy = allow(fixture.namespace, 'client', 'server', 'http')
  await isOpen(fixture, signal)
  await fixture.remove([policy], signal)
  try {
    await isClosed(fixture, signal, 'client')
  } finally {
    if (!signal.aborted) await fixture.apply([policy], signal)
  }
  await isOpen(fixture, signal)
}

async function probes(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const { namespace, options } = fixture
  const [server] = await fixture.pods('server', signal)
  const asked = server?.spec.containers.find(({ name }) => name === 'app')?.readinessProbe?.httpGet
  expect(asked?.port !== 8080, 'the probe of a pod goes past its sidecar, to the port of the application')
  const sick = { namespace, name: 'sick', ports: { 8080: 'http' }, readyPath: '/ready?status=503' } as const
  const objects = workloadObjects(sick, options.app)
  await fixture.apply(objects, signal)
  try {
    const podOf = async (): Promise<{ readonly isRunning: boolean; readonly isReady: boolean }> => {
      const [pod] = await fixture.pods('sick', signal)
      const { conditions = [], containerStatuses = [] } = pod?.status ?? {}
      return {
        isRunning: containerStatuses.some(({ name, state }) => name === 'app' && state?.running !== undefined),
        isReady: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
      }
    }
    const isRunning = async (): Promise<boolean> => (await podOf()).isRunning
    await fixture.until('the application of the pod that is not ready runs', isRunning, signal)
    const deadline = performance.now() + UNREADY_MS
    do expect(!(await podOf()).isReady, 'a pod is ready whose application says that it is not')
    while (performance.now() < deadline)
  } finally {
    if (!signal.aborted) await fixture.remove(objects, signal)
  }
}

async function rollingRestart(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  await isOpen(fixture, signal)
  const url = serverUrl(fixture)
  await underLoad(fixture, url, { client: 'answered' }, () => fixture.restart('server', signal))
}

async function controllerRestart(fixture: ClusterFixture, signal: AbortSignal): Promise<void> {
  const url = serverUrl(fixture)
  await isOpen(fixture, signal)
  await isClosed(fixture, signal, 'thief')
  await underLoad(fixture, url, { client: 'answered', thief: 'refused' }, () => fixture.restartController(signal))
  await policyRemoval(fixture, signal)
}

/** Does the work while workloads send requests, of which every one has that outcome. */
function underLoad(
  fixture: ClusterFixture,
  url: string,
  outcomes: Readonly<Record<string, LoadOptions['outcome']>>,
  work: () => Promise<void>,
): Promise<void> {
  const loads = Object.entries(outcomes).map(([from, outcome]) => ({
    from,
    url,
    outcome,
    ask: () => fixture.get(from, url),
  }))
  return whileSending(loads, work)
}
