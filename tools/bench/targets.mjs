import { figuresOf } from './figures.mjs'

/**
 * A target for one figure.
 * @typedef {object} Target
 * @property {string} what
 * @property {string} path of the figure
 * @property {'most' | 'least'} bound
 * @property {number} value
 * @property {string} unit
 * @property {string} [whenMissed] the known reasons for a miss
 * @property {string} [floor] path of the same figure of the bare server, of the same run
 */

/**
 * A target and its result; `measured` and `bare` are undefined if the report lacks the figure.
 * @typedef {Target & { readonly measured: number | undefined, readonly bare: number | undefined, readonly met: boolean | undefined }} Result
 */

const scale = 'scale'
const connections = 'connections'
const permissive = 'permissive'
const endpoints = (/** @type {number} */ affected) => `${scale}.endpointChange[affected=${affected}]`
const perProxyWork =
  'work done once for each notified proxy: see [where the time of an endpoint change goes](design/incremental.md#cost)'
const collections =
  'some changes coincide with a garbage collection of the old generation, to which the state of 500 proxies is promoted; they take up to 0.5 s longer than the others'

const firstConnection =
  'beyond the bare server mostly translating and encoding resources specific to a workload, garbage collection, policies, and reading certificates: see [connections](#connections)'
const reconnection =
  'beyond the bare server mostly garbage collection, authentication, and comparing the resources of each proxy with its policy: see [connections](#connections)'
const catalog =
  'the bare server has as many connections, and needs its memory mostly for TLS and HTTP/2 of Node; the rest is mostly the catalog of 1,000 services and 2,000 pods: see [connections](#connections)'
const coldStart =
  "a start with only 10 services takes more than half of it, mostly to load modules, Envoy's descriptors and validators: see [cold-start](#cold-start)"
const newService =
  'each of 200 proxies gets a policy and 6.9 kB; garbage collection takes a fifth of the time, policies a sixth, translation an eighth: see [scale](#scale)'
const permissiveConnection = 'the bare server sends the same 570 MB to the same clients'
const wholeProcess =
  'Node itself takes 41 MiB; the rest is mostly code: 6 MiB of source, 12 MiB of compiled code, and strings and object shapes of libraries'
const oneTurn =
  'one turn of the event loop reads from all connections; its handshakes, requests and first configurations are short but add up'
const allAtOnce =
  'Node reports all closed connections in one turn of the event loop and takes 0.3 ms each to free their TLS and HTTP/2 state; a program cannot spread this work'
const manyTurnsInOne =
  'one turn of the event loop computes policies for 10 ms, translates for 10 ms, writes the results to streams, and collects the garbage of all of it'
const duringCollection =
  'one of 20 changes coincides with a garbage collection of the old generation, which occupies both cores'
const sameChanges = 'some of these endpoint changes coincide with a garbage collection of the old generation'
const manyPods = 'the objects of initial lists, which V8 collects late: see [kwok](#kwok)'
const everybody = 'each of 500 proxies receives its listener with all addresses, which is two thirds of 39 kB'
const readToDrop =
  'both read and parse the same data; meanwhile the controller also pings 2,000 connections and collects the garbage of a heap of about 300 MB. The ratio is 1.4 to 1.5 in a mesh of 100 services, and was 1.6 on two other machines'

/** The longest time that any scenario may block the event loop. */
const LONGEST_BLOCK_MS = 100
/** @type {readonly (readonly [what: string, path: string, whenMissed?: string, floor?: string])[]} */
const blocks = [
  ['endpoint change, 100 affected', `${endpoints(100)}.longestBlockMs`],
  ['endpoint change, 500 affected', `${endpoints(500)}.longestBlockMs`, collections],
  ['policy change', `${scale}.policyChange.longestBlockMs`],
  ['service added', `${scale}.serviceAdded.longestBlockMs`, duringCollection],
  ['rollout of 700 pods, 50 a second', `${scale}.rollout.longestBlockMs`, duringCollection],
  ['no-op storm', `${scale}.noOps.longestBlockMs`],
  [
    '2,000 connections close at once',
    `${scale}.reconnect.longestBlockOfEndMs`,
    allAtOnce,
    `${scale}.reconnect.floorLongestBlockOfEndMs`,
  ],
  ['2,000 proxies reconnect', `${scale}.reconnect.longestBlockMs`, oneTurn, `${scale}.reconnect.floorLongestBlockMs`],
  ['slow and stuck readers', `${scale}.stuck.longestBlockMs`, sameChanges],
  ['root replaced for 2,000 proxies', `${scale}.rootRotation.longestBlockMs`, manyTurnsInOne],
  ['permissive mode, endpoint change, all affected', 'permissive.endpointChange.longestBlockMs', manyTurnsInOne],
  ['permissive mode, service added', 'permissive.serviceAdded.longestBlockMs', everybody],
  ['5,000 services, endpoint change, 100 affected', 'large.endpointChange.longestBlockMs', manyTurnsInOne],
  ['5,000 services, service added', 'large.serviceAdded.longestBlockMs', manyTurnsInOne],
]

/**
 * @param {string} what
 * @param {string} path
 * @param {'most' | 'least'} bound
 * @param {number} value
 * @param {string} [unit]
 * @param {string} [whenMissed]
 * @param {string} [floor]
 * @returns {Target}
 */
const target = (what, path, bound, value, unit = '', whenMissed, floor) => ({
  what,
  path,
  bound,
  value,
  unit,
  ...(whenMissed !== undefined && { whenMissed }),
  ...(floor !== undefined && { floor }),
})

/** @type {readonly Target[]} */
export const targets = [
  target(
    'endpoint change → last ACK of 500 affected, without the debounce, ratio to the floor',
    `${endpoints(500)}.ratio`,
    'most',
    1.5,
    '',
    perProxyWork,
  ),
  target('the same, CPU time of the controller', `${endpoints(500)}.cpuMs`, 'most', 60, 'ms', perProxyWork),
  target('the same, p99 with the debounce of 100 ms', `${endpoints(500)}.change.p99`, 'most', 250, 'ms', collections),
  target(
    '2,000 connected, endpoint change with 100 affected, p99',
    `${endpoints(100)}.change.p99`,
    'most',
    300,
    'ms',
    perProxyWork,
  ),
  target('bytes sent to unaffected proxies, 100 affected', `${endpoints(100)}.octetsToOthers`, 'most', 0, 'B'),
  target('bytes sent to unaffected proxies, 500 affected', `${endpoints(500)}.octetsToOthers`, 'most', 0, 'B'),
  target(
    'controller memory per connected proxy minus that of the floor, 1,000 services',
    `${scale}.memory.perProxyBeyondFloor`,
    'most',
    0.4,
    'MiB',
  ),
  target(
    'RSS of a controller without services and proxies',
    `${scale}.emptyControllerMiB`,
    'most',
    120,
    'MiB',
    wholeProcess,
  ),
  target(
    'RSS of a controller with 1,000 services and no proxy',
    `${scale}.memory.controller.without`,
    'most',
    120,
    'MiB',
    'the catalog of 1,000 services, 2,000 pods and 2,000 policies is part of it',
  ),
  target(
    '2,000 proxies reconnect, ratio to the floor',
    `${scale}.reconnect.ratio`,
    'most',
    1.6,
    '',
    'accepting fewer connections at once shortens the blocks of the event loop but prolongs the storm',
  ),
  target(
    '1,000 first connections, CPU time',
    `${connections}.controller.first.cpuMs`,
    'most',
    3500,
    'ms',
    firstConnection,
    `${connections}.floor.first.cpuMs`,
  ),
  target(
    'the same, time until the last proxy is configured',
    `${connections}.controller.first.lastMs`,
    'most',
    3500,
    'ms',
    firstConnection,
    `${connections}.floor.first.lastMs`,
  ),
  target(
    '500 reconnects, CPU time',
    `${connections}.controller.again.cpuMs`,
    'most',
    1400,
    'ms',
    reconnection,
    `${connections}.floor.again.cpuMs`,
  ),
  target(
    'resident memory with 1,000 proxies',
    `${connections}.controller.residentMiB.connected`,
    'most',
    350,
    'MiB',
    catalog,
    `${connections}.floor.residentMiB.connected`,
  ),
  target(
    'the same, after all reconnects',
    `${connections}.controller.residentMiB.last`,
    'most',
    400,
    'MiB',
    catalog,
    `${connections}.floor.residentMiB.last`,
  ),
  target('cores used by 200 no-op writes a second', `${connections}.noOps.cores`, 'most', 0.08),
  target(
    'cold start to the first configured proxy, CPU time',
    'cold-start.configured.cpuMs.p50',
    'most',
    1200,
    'ms',
    coldStart,
  ),
  target('new service visible to 200 proxies, CPU time', `${scale}.serviceAdded.cpuMs`, 'most', 100, 'ms', newService),
  target(
    'permissive mode: new service, time until the last acknowledgement of any resource',
    `${permissive}.serviceAdded.settled.p50`,
    'most',
    1000,
    'ms',
    everybody,
  ),
  target('the same, CPU time', `${permissive}.serviceAdded.cpuMs`, 'most', 800, 'ms', everybody),
  target(
    'the same, bytes sent to all proxies',
    `${permissive}.serviceAdded.sentBytes`,
    'most',
    20_000_000,
    'B',
    everybody,
  ),
  target(
    'permissive mode: 500 first connections',
    `${permissive}.firstConnect.product.max`,
    'most',
    8000,
    'ms',
    permissiveConnection,
    `${permissive}.firstConnect.floor.max`,
  ),
  target('pushes in the no-op storm', `${scale}.noOps.responses`, 'most', 0),
  target('policies recomputed in the no-op storm', `${scale}.noOps.recomputedPolicies`, 'most', 0),
  target('CPU time of the no-op storm, ratio to a bare reader', `${scale}.noOps.ratio`, 'most', 1.5, '', readToDrop),
  target(
    'recomputed parts and touched proxies: 2,000 proxies that cannot reach the endpoint, minus 100 such proxies',
    'recomputation[strangers=2000].difference',
    'most',
    0,
  ),
  target(
    '1,000 HTTPRoutes on 300 Services, computed and translated, ratio to as many TrafficSplits with matches',
    'policy-kinds.httpRoutesToSplits.both',
    'most',
    2,
  ),
  ...blocks.map(([what, path, whenMissed, floor]) =>
    target(`longest event loop block: ${what}`, path, 'most', LONGEST_BLOCK_MS, 'ms', whenMissed, floor),
  ),
  target('soak: KiB retained per cycle, lower end of the confidence interval', 'soak.perCycle.low', 'most', 16, 'KiB'),
  target('pod reviews, closed loop', 'injection.closedLoop.reviewsPerSecond', 'least', 1000, '/s'),
  target('pod review at 100 a second, p99', 'injection.openLoop[perSecond=100].latency.p99', 'most', 5, 'ms'),
  target('P-256 certificates, ratio to the bare cryptography', 'certificates.ratio', 'least', 0.7),
  target('osm analyze of a folder of 5,000 objects', 'analyze.wall.p50', 'most', 3000, 'ms'),
  target('osm version --client-only beyond node -e 0', 'cli-start.beyondNode', 'most', 60, 'ms'),
  target('10,000 pods of kwok: controller ready, CPU time', 'kwok.ready.cpuMs.p50', 'most', 5000, 'ms', manyPods),
  target('the same, resident memory', 'kwok.ready.residentMiB.p50', 'most', 350, 'MiB', manyPods),
  target(
    'convergence beside drivers that hang, throw and leak, ratio of p99 to p99 without them',
    'containment.ratio',
    'most',
    1.2,
  ),
]

/**
 * Compares a report with the targets.
 * @param {unknown} report
 * @returns {readonly Result[]}
 */
export function resultsOf(report) {
  const figures = new Map(figuresOf(report).map(({ path, value }) => [path, value]))
  return targets.map((each) => {
    const measured = figures.get(each.path)
    const bare = each.floor === undefined ? undefined : figures.get(each.floor)
    const { bound, value } = each
    const met = measured === undefined ? undefined : bound === 'most' ? measured <= value : measured >= value
    return { ...each, measured, bare, met }
  })
}

/**
 * @param {{ bound: 'most' | 'least', value: number, unit: string }} target
 * @returns {string}
 */
export function boundText({ bound, value, unit }) {
  return `at ${bound} ${value.toLocaleString('en-US')}${unit === '' ? '' : ` ${unit}`}`
}
