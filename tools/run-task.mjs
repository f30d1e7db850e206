import { say } from './lib/progress.mjs'
import { SetUpError } from './lib/set-up-error.mjs'
import { prepare } from './setup/prepare.mjs'

/** @typedef {import('./setup/prepare.mjs').Need} Need */
/** @typedef {{ readonly env: NodeJS.ProcessEnv }} TaskContext what set-up found, as environment for programs */
/** @typedef {(args: readonly string[], context: TaskContext) => Promise<number>} Task returns the exit code */

/**
 * What each root script needs and does. Tasks are imported only after set-up, because they use installed packages.
 * @type {Readonly<Record<string, { needs: readonly Need[], load: () => Promise<{ task: Task }> }>>}
 */
const tasks = {
  setup: {
    needs: ['packages', 'envoyApi', 'envoy', 'transparent', 'haproxy', 'pythonDriver'],
    load: () => import('./tasks/setup.mjs'),
  },
  build: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/build.mjs') },
  demo: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/demo.mjs') },
  test: {
    needs: [
      'packages',
      'envoyApi',
      'envoy',
      'transparent',
      'haproxy',
      'pythonDriver',
      'clouds',
      'collector',
      'jaeger',
      'spire',
    ],
    load: () => import('./tasks/test.mjs'),
  },
  'test:api': {
    needs: ['packages', 'envoyApi', 'envoy', 'kubernetes', 'haproxy'],
    load: () => import('./tasks/test-api.mjs'),
  },
  'test:cluster': {
    needs: ['packages', 'envoyApi', 'envoy', 'clouds', 'cluster'],
    load: () => import('./tasks/test-cluster.mjs'),
  },
  'test:traffic': {
    needs: ['packages', 'envoyApi', 'envoy', 'transparent'],
    load: () => import('./tasks/test-traffic.mjs'),
  },
  'test:ui': { needs: ['packages', 'envoyApi', 'envoy'], load: () => import('./tasks/test-ui.mjs') },
  'test:pipy': { needs: ['packages', 'envoyApi'], load: () => import('./tasks/test-pipy.mjs') },
  conformance: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/conformance.mjs') },
  registry: { needs: ['packages', 'envoyApi', 'haproxy'], load: () => import('./tasks/registry.mjs') },
  release: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/release.mjs') },
  changelog: { needs: ['packages'], load: () => import('./tasks/changelog.mjs') },
  check: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/check.mjs') },
  bench: { needs: ['packages', 'envoyApi', 'envoy', 'kubernetes'], load: () => import('./tasks/bench.mjs') },
  'bench:compare': { needs: [], load: () => import('./tasks/bench-compare.mjs') },
  'bench:table': { needs: [], load: () => import('./tasks/bench-table.mjs') },
  'bench:page': { needs: [], load: () => import('./tasks/bench-page.mjs') },
  fuzz: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/fuzz.mjs') },
  docs: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/docs.mjs') },
  images: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/images.mjs') },
  'cluster-build': { needs: [], load: () => import('./tasks/cluster-build.mjs') },
  cluster: { needs: ['packages', 'envoyApi'], load: () => import('./tasks/cluster.mjs') },
}

/**
 * @param {readonly string[]} commandLine
 * @returns {Promise<number>} the exit code
 */
export async function runTask([name = '', ...args]) {
  const entry = Object.hasOwn(tasks, name) ? tasks[name] : undefined
  if (entry === undefined) {
    say(`no task "${name}"; there are ${Object.keys(tasks).join(', ')}`)
    return 2
  }
  try {
    const context = { env: await prepare(entry.needs) }
    const { task } = await entry.load()
    return await task(args, context)
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    say(error.message)
    return 1
  }
}
