import { join } from 'node:path'
import { withLock } from '../lib/lock.mjs'
import { root } from '../lib/paths.mjs'
import { ensureCloudStandIns } from './cloud-stand-ins.mjs'
import { clusterObstacle } from './cluster-programs.mjs'
import { ensurePythonDriver } from './driver-python.mjs'
import { ensureEnvoy } from './envoy-binary.mjs'
import { ensureHaproxy } from './haproxy.mjs'
import { ensureJaeger } from './jaeger.mjs'
import { ensureKubernetes } from './kubernetes.mjs'
import { ensureOtelCollector } from './otel-collector.mjs'
import { ensurePackages, packagesAreCurrent } from './packages.mjs'
import { foundSpire } from './spire.mjs'
import { ensureTransparentMode } from './transparent-mode.mjs'

/** @typedef {'packages' | 'envoyApi' | 'envoy' | 'transparent' | 'haproxy' | 'pythonDriver' | 'clouds' | 'collector' | 'jaeger' | 'spire' | 'kubernetes' | 'cluster'} Need */

/**
 * Brings the checkout and the machine to the state that a task needs. Quiet and quick when they are in it.
 * @param {readonly Need[]} needs
 * @returns {Promise<NodeJS.ProcessEnv>} environment through which programs learn what was found
 */
export async function prepare(needs) {
  /** @type {NodeJS.ProcessEnv} */
  const env = {}
  if (needs.includes('packages') && !packagesAreCurrent()) await exclusively(ensurePackages)
  if (needs.includes('envoyApi')) {
    const { ensureEnvoyApi, envoyApiIsCurrent } = await import('../gen-protos.mjs')
    if (!(await envoyApiIsCurrent())) await exclusively(ensureEnvoyApi)
  }
  if (needs.includes('envoy')) env.ENVOY_BIN = await ensureEnvoy()
  if (needs.includes('transparent')) {
    const available = await exclusively(ensureTransparentMode)
    env.OSM_TEST_MODES = available ? 'explicit,transparent' : 'explicit'
  }
  if (needs.includes('haproxy')) env.HAPROXY_BIN = await exclusively(ensureHaproxy)
  if (needs.includes('pythonDriver')) env.OSM_PYTHON_DRIVER = await exclusively(ensurePythonDriver)
  if (needs.includes('clouds')) Object.assign(env, await exclusively(ensureCloudStandIns))
  if (needs.includes('collector')) env.OSM_OTEL_COLLECTOR = await exclusively(ensureOtelCollector)
  if (needs.includes('jaeger')) env.OSM_JAEGER = await exclusively(ensureJaeger)
  if (needs.includes('spire')) Object.assign(env, foundSpire())
  if (needs.includes('kubernetes')) Object.assign(env, await exclusively(ensureKubernetes))
  if (needs.includes('cluster')) {
    const obstacle = await exclusively(clusterObstacle)
    if (obstacle !== undefined) env.OSM_CLUSTER_TIER_OBSTACLE = obstacle
  }
  return env
}

/**
 * Two tasks may start at once in one checkout; only one of them may change it.
 * @template T
 * @param {() => Promise<T>} work must look again whether there is anything to do
 */
function exclusively(work) {
  return withLock(join(root, '.cache/set-up.lock'), work)
}
