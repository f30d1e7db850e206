import { figuresOf } from './figures.mjs'

/**
 * What is to be reached.
 * @typedef {object} Target
 * @property {string} what
 * @property {string} path of the figure
 * @property {'most' | 'least'} bound
 * @property {number} value
 * @property {string} unit
 * @property {string} [whenMissed] why a report may miss it, as far as that has been looked into
 */

/**
 * A target and what came of it; `measured` is undefined where the report lacks the figure.
 * @typedef {Target & { readonly measured: number | undefined, readonly met: boolean | undefined }} Result
 */

const scale = 'scale'
const connections = 'connections'
const permissive = 'permissive'
const endpoints = (/** @type {number} */ affected) => `${scale}.endpointChange[affected=${affected}]`
const perProxyWork =
  'what happens once for each notified proxy: see [where the time of an endpoint change goes](design/incremental.md#cost)'
const collections =
  'some changes fall into a collection of the old generation, to which the states of 500 proxies on their way are promoted: such a one takes twice the processor time of the others'

const firstConnection =
  "the bare server takes two fifths of it; the rest is mostly garbage collection, translation and encoding of what is a workload's own, and reading certificates: see [connections](#connections)"
const reconnection =
  'the bare server takes half of it; the rest is mostly garbage collection, authentication and comparing what the proxy has with what it should have: see [connections](#connections)'
const catalog =
  'the catalog of 1,000 services, 2,000 pods and 2,000 policies is half of it, and Node with its modules 100 MiB: see [connections](#connections)'
const coldStart =
  "a start with 10 services takes 1.0 s: loading modules, Envoy's descriptors and validators, before there is a mesh: see [cold-start](#cold-start)"
const newService =
  'each of 200 proxies is sent its whole listener for one more address, and a third of the time is garbage collection: see [scale](#scale)'
const permissiveConnection =
  'the bare server that sends the same 567 MB to the same clients takes four fifths of the time'
const wholeProcess =
  'Node takes 41 MiB by itself; the rest is mostly code: 6 MiB of source, 12 MiB of what it is compiled to, and the strings and shapes of libraries'
const oneTurn =
  'one turn of the event loop reads what has come on all connections: handshakes, requests and first configurations of a turn add up, none of them is long by itself'
const allAtOnce =
  'Node tells of all connections that have ended in one turn of the event loop, and takes 0.3 ms for each to free what TLS and HTTP/2 hold; no program can spread that'
const manyTurnsInOne =
  'policies are computed for 10 ms and translated for 10 ms before others have their turn, and what comes of both is written to streams in the same turn, with its garbage collection'
const duringCollection =
  'one of 20 changes falls into a collection of the old generation, whose threads take both cores (320 ms of processor time in 162 ms): all that is done then takes longer. The others block for 80 ms at the most'
const sameChanges =
  '75 ms in other runs: these are changes of an endpoint as above, some of which fall into a collection of the old generation'
const manyPods = 'garbage collection, loading of modules, and objects of lists: see [kwok](#kwok)'
const everybody =
  'each of 500 proxies is sent its listener with 16 filter chains and all addresses, which is three quarters of 72 kB'
const readToDrop =
  'both read and parse the same; in these seconds the controller also pings 2,000 connections and collects the garbage of a heap of some 300 MB. In a mesh of 100 services it is 1.4 to 1.5, and 1.6 on another machine'

/** No scenario may keep the event loop busy with one thing for longer. */
const LONGEST_BLOCK_MS = 100
/** @type {readonly (readonly [what: string, path: string, whenMissed?: string])[]} */
const blocks = [
  ['endpoint of 100', `${endpoints(100)}.longestBlockMs`],
  ['endpoint of 500', `${endpoints(500)}.longestBlockMs`, manyTurnsInOne],
  ['policy change', `${scale}.policyChange.longestBlockMs`],
  ['service added', `${scale}.serviceAdded.longestBlockMs`, duringCollection],
  ['rollout of 700 pods at 50 a second', `${scale}.rollout.longestBlockMs`, duringCollection],
  ['no-op storm', `${scale}.noOps.longestBlockMs`],
  ['2,000 connections end at once', `${scale}.reconnect.longestBlockOfEndMs`, allAtOnce],
  ['2,000 proxies reconnect', `${scale}.reconnect.longestBlockMs`, oneTurn],
  ['slow and stuck readers', `${scale}.stuck.longestBlockMs`, sameChanges],
  ['another root for 2,000 proxies', `${scale}.rootRotation.longestBlockMs`, manyTurnsInOne],
  ['permissive mode, endpoint of all', 'permissive.endpointChange.longestBlockMs', manyTurnsInOne],
  ['permissive mode, service added', 'permissive.serviceAdded.longestBlockMs', everybody],
  ['5,000 services, endpoint of 100', 'large.endpointChange.longestBlockMs', manyTurnsInOne],
  ['5,000 services, service added', 'large.serviceAdded.longestBlockMs', manyTurnsInOne],
]

/**
 * @param {string} what
 * @param {string} path
 * @param {'most' | 'least'} bound
 * @param {number} value
 * @param {string} [unit]
 * @param {string} [whenMissed]
 * @returns {Target}
 */
const target = (what, path, bound, value, unit = '', whenMissed) => ({
  what,
  path,
  bound,
  value,
  unit,
  ...(whenMissed !== undefined && { whenMissed }),
})

/** @type {readonly Target[]} */
export const targets = [
  target(
    'endpoint change → last ACK of 500 affected, beyond the debounce, to the floor',
    `${endpoints(500)}.ratio`,
    'most',
    1.5,
    '',
    perProxyWork,
  ),
  target('the same, processor time of the controller', `${endpoints(500)}.cpuMs`, 'most', 60, 'ms', perProxyWork),
  target('the same, p99 with the debounce of 100 ms', `${endpoints(500)}.change.p99`, 'most', 250, 'ms', collections),
  target(
    '2,000 connected, endpoint change with 100 affected, p99',
    `${endpoints(100)}.change.p99`,
    'most',
    300,
    'ms',
    perProxyWork,
  ),
  target('bytes to the others', `${endpoints(100)}.octetsToOthers`, 'most', 0, 'B'),
  target('bytes to the others, 500 affected', `${endpoints(500)}.octetsToOthers`, 'most', 0, 'B'),
  target(
    'controller memory per connected proxy beyond the floor, 1,000 services',
    `${scale}.memory.perProxyBeyondFloor`,
    'most',
    0.4,
    'MiB',
  ),
  target(
    'base of a controller without services and proxies, RSS',
    `${scale}.emptyControllerMiB`,
    'most',
    120,
    'MiB',
    wholeProcess,
  ),
  target(
    'base of a controller with 1,000 services and no proxy, RSS',
    `${scale}.memory.controller.without`,
    'most',
    120,
    'MiB',
    'the catalog of 1,000 services, 2,000 pods and 2,000 policies is part of it',
  ),
  target(
    '2,000 proxies reconnect, to the floor',
    `${scale}.reconnect.ratio`,
    'most',
    1.6,
    '',
    'connections have their turn: fewer at once make blocks of the event loop shorter, and the storm longer',
  ),
  target(
    '1,000 first connections, processor time',
    `${connections}.controller.first.cpuMs`,
    'most',
    3500,
    'ms',
    firstConnection,
  ),
  target(
    'the same, until the last is configured',
    `${connections}.controller.first.lastMs`,
    'most',
    3500,
    'ms',
    firstConnection,
  ),
  target('500 reconnects, processor time', `${connections}.controller.again.cpuMs`, 'most', 1400, 'ms', reconnection),
  target(
    'resident memory with 1,000 proxies',
    `${connections}.controller.residentMiB.connected`,
    'most',
    350,
    'MiB',
    catalog,
  ),
  target('the same, after all reconnects', `${connections}.controller.residentMiB.last`, 'most', 400, 'MiB', catalog),
  target('cores for 200 writes a second that change nothing', `${connections}.noOps.cores`, 'most', 0.08),
  target(
    'cold start to the first configured proxy, processor time',
    'cold-start.configured.cpuMs.p50',
    'most',
    1200,
    'ms',
    coldStart,
  ),
  target('new service that 200 see, processor time', `${scale}.serviceAdded.cpuMs`, 'most', 100, 'ms', newService),
  target(
    'permissive mode: new service, until the last acknowledgement of anything',
    `${permissive}.serviceAdded.settled.p50`,
    'most',
    1000,
    'ms',
    everybody,
  ),
  target('the same, processor time', `${permissive}.serviceAdded.cpuMs`, 'most', 800, 'ms', everybody),
  target('the same, bytes sent to all', `${permissive}.serviceAdded.sentBytes`, 'most', 20_000_000, 'B', everybody),
  target(
    'permissive mode: 500 first connections',
    `${permissive}.firstConnect.product.max`,
    'most',
    8000,
    'ms',
    permissiveConnection,
  ),
  target('pushes in the no-op storm', `${scale}.noOps.responses`, 'most', 0),
  target('policies recomputed in the no-op storm', `${scale}.noOps.recomputedPolicies`, 'most', 0),
  target('processor time of the no-op storm, to a bare reader', `${scale}.noOps.ratio`, 'most', 1.5, '', readToDrop),
  target(
    'recomputed parts and touched proxies with 2,000 proxies that cannot reach the endpoint, less those with 100',
    'recomputation[strangers=2000].difference',
    'most',
    0,
  ),
  target(
    '1,000 HTTPRoutes on 300 Services, computed and translated, to as many TrafficSplits with matches',
    'policy-kinds.httpRoutesToSplits.both',
    'most',
    2,
  ),
  ...blocks.map(([what, path, whenMissed]) =>
    target(`longest block of the event loop: ${what}`, path, 'most', LONGEST_BLOCK_MS, 'ms', whenMissed),
  ),
  target('soak: KiB that each cycle leaves, lower end of the interval', 'soak.perCycle.low', 'most', 16, 'KiB'),
  target('reviews of pods, closed loop', 'injection.closedLoop.reviewsPerSecond', 'least', 1000, '/s'),
  target('review of a pod at 100 a second, p99', 'injection.openLoop[perSecond=100].latency.p99', 'most', 5, 'ms'),
  target('P-256 certificates, to the bare cryptography', 'certificates.ratio', 'least', 0.7),
  target('osm analyze of a folder of 5,000 objects', 'analyze.wall.p50', 'most', 3000, 'ms'),
  target('osm version --client-only beyond node -e 0', 'cli-start.beyondNode', 'most', 60, 'ms'),
  target('10,000 pods of kwok: controller ready, processor time', 'kwok.ready.cpuMs.p50', 'most', 5000, 'ms', manyPods),
  target('the same, resident memory', 'kwok.ready.residentMiB.p50', 'most', 350, 'MiB', manyPods),
  target(
    'convergence of other drivers beside drivers that hang, throw and leak, p99 to p99 without them',
    'containment.ratio',
    'most',
    1.2,
  ),
]

/**
 * Holds a report against the targets.
 * @param {unknown} report
 * @returns {readonly Result[]}
 */
export function resultsOf(report) {
  const figures = new Map(figuresOf(report).map(({ path, value }) => [path, value]))
  return targets.map((each) => {
    const measured = figures.get(each.path)
    const { bound, value } = each
    const met = measured === undefined ? undefined : bound === 'most' ? measured <= value : measured >= value
    return { ...each, measured, met }
  })
}

/**
 * @param {{ bound: 'most' | 'least', value: number, unit: string }} target
 * @returns {string}
 */
export function boundText({ bound, value, unit }) {
  return `at ${bound} ${value.toLocaleString('en-US')}${unit === '' ? '' : ` ${unit}`}`
}
