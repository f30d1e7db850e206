import { setTimeout as sleep } from 'node:timers/promises'

import { formatProblem } from '@osm-ts/core'

import type { LiveMesh } from '../live/run-mesh.js'
import { TrafficLog } from '../live/traffic-log.js'
import { debugApi } from '../state/debug-api.js'
import { bookstoreFlows, probeFlow, splitProbe } from './bookstore.js'
import type { DemoObservations } from './demo-report.js'
import { checkFlows } from './flow-checks.js'
import { checkMtls } from './mtls-check.js'
import { probePlace, sampleSplit } from './sample-split.js'
import { checkSplit } from './split-check.js'

/** Watches a running bookstore for a while, probes its ports, and reports what it saw. Leftovers are known only after the end. */
export async function observeDemo(
  { mesh, observer, converged, signal }: LiveMesh,
  {
    seconds,
    now,
    nodeProgram,
    silentClasses,
  }: { seconds: number; now: () => number; nodeProgram: string; silentClasses: ReadonlySet<string> },
): Promise<Omit<DemoObservations, 'leftovers'>> {
  const began = now()
  const traffic = new TrafficLog(began)
  const end = observer.onRequest((request) => traffic.record(request))
  const { mode, startedAt } = observer.view()
  const instances = mesh.instances()
  const caller = instances.find(({ workload }) => workload === splitProbe.workload)
  const place = caller && probePlace(caller, nodeProgram)
  try {
    const sampled =
      place === undefined
        ? Promise.resolve()
        : sampleSplit(place, {
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
  const mtls = await checkMtls(proxies, view.certificates, silentClasses, signal)
  return {
    mode,
    rows,
    flows: checkFlows(rows, place === undefined ? bookstoreFlows : [...bookstoreFlows, probeFlow]),
    splits: view.splits.map(checkSplit),
    mtls,
    proxies: statuses,
    problems: view.problems.filter(({ severity }) => severity === 'error').map(formatProblem),
    convergenceMs: converged.appliedAt - converged.connectedAt,
    startMs: converged.appliedAt - startedAt,
    observedMs: now() - began,
  }
}
