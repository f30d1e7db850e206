import { setTimeout as sleep } from 'node:timers/promises'

import { formatProblem } from '@osm-ts/core'

import type { LiveMesh } from '../live/run-mesh.js'
import { TrafficLog } from '../live/traffic-log.js'
import { debugApi } from '../state/debug-api.js'
import type { DemoObservations } from './demo-report.js'
import { type DemoScene, probeFlow } from './demo-scene.js'
import { checkFlows } from './flow-checks.js'
import { checkMtls } from './mtls-check.js'
import { probePlace, sampleSplit } from './sample-split.js'
import { checkSplit } from './split-check.js'

/** How a demo is watched. */
interface ObserveOptions extends DemoScene {
  readonly seconds: number
  readonly now: () => number
  readonly nodeProgram: string
  /** Classes whose sidecars need not tell which certificate they hold. */
  readonly silentClasses: ReadonlySet<string>
}

/** Watches a running mesh for a while, probes its ports, and reports what it saw. Leftovers are known only after the end. */
export async function observeDemo(
  { mesh, observer, converged, signal }: LiveMesh,
  { flows, probe, seconds, now, nodeProgram, silentClasses }: ObserveOptions,
): Promise<Omit<DemoObservations, 'leftovers'>> {
  const began = now()
  const traffic = new TrafficLog(began)
  const end = observer.onRequest((request) => traffic.record(request))
  const { mode, startedAt } = observer.view()
  const instances = mesh.instances()
  const caller = instances.find(({ workload }) => workload === probe.workload)
  const place = caller && probePlace(caller, nodeProgram)
  try {
    const sampled =
      place === undefined
        ? Promise.resolve()
        : sampleSplit(place, probe, {
            signal,
            now,
            onRequest: (request) =>
              observer.record({ type: 'request', request: { ...request, namespace: caller?.namespace ?? '' } }),
          })
    await Promise.all([sampled, sleep(seconds * 1000, undefined, { signal })])
  } finally {
    end()
  }
  const url = mesh.controllerUrl() ?? ''
  const api = debugApi(url, signal)
  const statuses = await api.statuses()
  const proxies = await Promise.all(statuses.map(async (status) => ({ status, policy: await api.policy(status) })))
  const view = observer.view()
  const rows = traffic.rows(now())
  // Sidecars that this mesh has not started are not asked, only looked at from outside.
  const started = new Set(instances.map(({ namespace, name }) => `${namespace}/${name}`))
  const silent = statuses.filter((status) => silentClasses.has(status.class) || !started.has(status.name))
  const mtls = await checkMtls(proxies, view.certificates, new Set(silent.map(({ name }) => name)), signal)
  return {
    mode,
    rows,
    flows: checkFlows(rows, place === undefined ? flows : [...flows, probeFlow(probe)]),
    splits: view.splits.map(checkSplit),
    mtls,
    proxies: statuses,
    problems: view.problems.filter(({ severity }) => severity === 'error').map(formatProblem),
    convergenceMs: converged.appliedAt - converged.connectedAt,
    startMs: converged.appliedAt - startedAt,
    observedMs: now() - began,
  }
}
