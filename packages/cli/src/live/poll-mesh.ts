import { setTimeout as sleep } from 'node:timers/promises'

import type { ProxyStatus } from '@osm-ts/core'
import type { RunningInstance, RunningMesh } from '@osm-ts/standalone'

import { debugApi } from '../state/debug-api.js'
import type { SeenCertificate } from './live-view.js'
import type { MeshObserver } from './mesh-observer.js'
import { readSidecarCertificate, type GetPage } from './sidecar-certificates.js'

/** Often enough that convergence is measured to a twentieth of a second. */
const pollMs = 50
const calmPollMs = 500
/** How often certificates are read while some are missing, and when all are there. */
const certificatesMs = { missing: 1500, complete: 10_000 }

/** Told of every look at the proxies. */
export type StatusListener = (statuses: readonly ProxyStatus[], expected: number, now: number) => void

/** What polling needs. */
export interface PollOptions {
  readonly signal: AbortSignal
  readonly now: () => number
  readonly onStatuses: StatusListener
  /** How the pages of an instance's sidecar are read. */
  readonly pagesOf: (instance: RunningInstance) => GetPage
}

/** Keeps an observer up to date with what controller and sidecars say, until the signal aborts. Never rejects. */
export async function pollMesh(
  mesh: Pick<RunningMesh, 'controllerUrl' | 'instances'>,
  observer: MeshObserver,
  { signal, now, onStatuses, pagesOf }: PollOptions,
): Promise<void> {
  let certificatesDue = 0
  while (!signal.aborted) {
    const url = mesh.controllerUrl()
    observer.setControllerUrl(url)
    const instances = mesh.instances()
    const statuses = url === undefined ? undefined : await statusesOf(url, signal)
    if (statuses !== undefined) {
      const started = new Set(instances.map(({ uuid }) => uuid))
      const own = statuses.filter(({ uuid }) => started.has(uuid))
      observer.setStatuses(
        statuses,
        statuses.filter(({ uuid }) => !started.has(uuid)),
      )
      // Machines that have joined come and go as they like: the mesh does not wait for them.
      onStatuses(own, instances.length, now())
    }
    if (now() >= certificatesDue) {
      const certificates = await certificatesOf(instances, pagesOf)
      observer.setCertificates(certificates)
      const complete = certificates.size === instances.length && instances.length > 0
      certificatesDue = now() + (complete ? certificatesMs.complete : certificatesMs.missing)
    }
    const calm = statuses !== undefined && statuses.length > 0 && statuses.every(({ state }) => state === 'applied')
    // Rejects when the signal aborts; the loop then ends by its condition.
    await sleep(calm ? calmPollMs : pollMs, undefined, { signal }).catch(() => undefined)
  }
}

async function statusesOf(url: string, signal: AbortSignal): Promise<readonly ProxyStatus[] | undefined> {
  // A controller that is starting or restarting does not answer; the last answer stays in the view.
  return debugApi(url, signal)
    .statuses()
    .catch(() => undefined)
}

async function certificatesOf(
  instances: readonly RunningInstance[],
  pagesOf: PollOptions['pagesOf'],
): Promise<ReadonlyMap<string, SeenCertificate>> {
  const found = await Promise.all(
    instances.map(
      async (instance) =>
        [`${instance.namespace}/${instance.name}`, await readSidecarCertificate(pagesOf(instance))] as const,
    ),
  )
  return new Map(
    found.flatMap(([name, certificate]) => (certificate === undefined ? [] : [[name, certificate] as const])),
  )
}
