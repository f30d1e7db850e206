import { figuresOf } from './figures.mjs'

/**
 * What is to be reached.
 * @typedef {object} Target
 * @property {string} what
 * @property {string} path of the figure
 * @property {'most' | 'least'} bound
 * @property {number} value
 * @property {string} unit
 */

/**
 * A target and what came of it; `measured` is undefined where the report lacks the figure.
 * @typedef {Target & { readonly measured: number | undefined, readonly met: boolean | undefined }} Result
 */

const scale = 'scale'
const endpoints = (/** @type {number} */ affected) => `${scale}.endpointChange[affected=${affected}]`

/** @type {readonly Target[]} */
export const targets = [
  {
    what: 'endpoint change → last ACK of 500 affected, beyond the debounce, to the floor',
    path: `${endpoints(500)}.ratio`,
    bound: 'most',
    value: 1.5,
    unit: '',
  },
  { what: 'the same, p99', path: `${endpoints(500)}.change.p99`, bound: 'most', value: 300, unit: 'ms' },
  {
    what: 'endpoint change with 100 affected, p99',
    path: `${endpoints(100)}.change.p99`,
    bound: 'most',
    value: 300,
    unit: 'ms',
  },
  {
    what: 'octets to the proxies that it does not concern',
    path: `${endpoints(100)}.octetsToOthers`,
    bound: 'most',
    value: 0,
    unit: 'B',
  },
  {
    what: 'controller memory per proxy beyond the floor',
    path: `${scale}.memory.perProxyBeyondFloor`,
    bound: 'most',
    value: 0.4,
    unit: 'MiB',
  },
  {
    what: '2,000 proxies reconnect, to the floor',
    path: `${scale}.reconnect.ratio`,
    bound: 'most',
    value: 1.6,
    unit: '',
  },
  {
    what: 'responses in the no-op storm',
    path: `${scale}.noOps.responses`,
    bound: 'most',
    value: 0,
    unit: '',
  },
  {
    what: 'policies recomputed in the no-op storm',
    path: `${scale}.noOps.recomputedPolicies`,
    bound: 'most',
    value: 0,
    unit: '',
  },
  {
    what: 'processor time of the no-op storm, to a bare reader',
    path: `${scale}.noOps.ratio`,
    bound: 'most',
    value: 1.5,
    unit: '',
  },
  {
    what: 'longest block of the event loop, endpoint changes',
    path: `${endpoints(500)}.longestBlockMs`,
    bound: 'most',
    value: 100,
    unit: 'ms',
  },
  {
    what: 'longest block of the event loop, reconnects',
    path: `${scale}.reconnect.longestBlockMs`,
    bound: 'most',
    value: 100,
    unit: 'ms',
  },
  {
    what: 'longest block of the event loop, no-op storm',
    path: `${scale}.noOps.longestBlockMs`,
    bound: 'most',
    value: 100,
    unit: 'ms',
  },
  {
    what: 'reviews of pods, closed loop',
    path: 'injection.closedLoop.reviewsPerSecond',
    bound: 'least',
    value: 1000,
    unit: '/s',
  },
  {
    what: 'review of a pod at 100 a second, p99',
    path: 'injection.openLoop.latency.p99',
    bound: 'most',
    value: 5,
    unit: 'ms',
  },
  {
    what: 'P-256 certificates, to the bare cryptography',
    path: 'certificates.ratio',
    bound: 'least',
    value: 0.7,
    unit: '',
  },
  {
    what: 'osm version --client-only beyond node -e 0',
    path: 'cli-start.beyondNode',
    bound: 'most',
    value: 60,
    unit: 'ms',
  },
  {
    what: 'convergence of other drivers beside drivers that hang, throw and leak',
    path: 'containment.ratio',
    bound: 'most',
    value: 1.2,
    unit: '',
  },
]

/**
 * Holds a report against the targets.
 * @param {unknown} report
 * @returns {readonly Result[]}
 */
export function resultsOf(report) {
  const figures = new Map(figuresOf(report).map(({ path, value }) => [path, value]))
  return targets.map((target) => {
    const measured = figures.get(target.path)
    const { bound, value } = target
    const met = measured === undefined ? undefined : bound === 'most' ? measured <= value : measured >= value
    return { ...target, measured, met }
  })
}

/**
 * @param {{ bound: 'most' | 'least', value: number, unit: string }} target
 * @returns {string}
 */
export function boundText({ bound, value, unit }) {
  return `at ${bound} ${value.toLocaleString('en-US')}${unit === '' ? '' : ` ${unit}`}`
}
