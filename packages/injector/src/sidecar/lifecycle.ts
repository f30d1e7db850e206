import type { SidecarPatch } from '@osm-ts/driver-api'

import type { JsonObject } from '../json/json.js'
import type { ContainerValues } from './values.js'

/** A sidecar that has no configuration after this long is started again. */
const STARTUP_TIMEOUT_SECONDS = 600
/** Not ready after that many unanswered or negative questions in a row. */
const READINESS_FAILURES = 3
const READINESS_PERIOD_SECONDS = 10

/**
 * Probes of the sidecar by the driver's own `ready`.
 *
 * The startup probe is what holds the application back: containers after a native sidecar are started when it has succeeded. Classic sidecars are
 * started beside the application, which then gains nothing by it.
 */
export function sidecarProbes({ ready }: SidecarPatch, native: boolean): JsonObject {
  const { port, path } = ready.http
  const httpGet = { path, port, scheme: 'HTTP' }
  const startSeconds = Math.max(1, Math.ceil(ready.periodMs / 1000))
  const readinessProbe = { httpGet, periodSeconds: READINESS_PERIOD_SECONDS, failureThreshold: READINESS_FAILURES }
  if (!native) return { readinessProbe }
  return {
    startupProbe: {
      httpGet,
      periodSeconds: startSeconds,
      failureThreshold: Math.ceil(STARTUP_TIMEOUT_SECONDS / startSeconds),
    },
    readinessProbe,
  }
}

/** What decides about the end of a sidecar. */
export interface EndOptions {
  readonly native: boolean
  /** True: the cluster knows hooks that wait. */
  readonly sleepingHooks: boolean
  /** What the pod says of its `terminationGracePeriodSeconds`. */
  readonly graceSeconds: number
}

/**
 * What happens before the sidecar is told to end.
 *
 * A native sidecar ends after the application: it has to finish what is on the way only, for the shorter of the driver's times. A classic one is
 * told to end together with the application, whose connections it carries while that ends: for the longer one.
 *
 * A driver's command is run as it is. Its other actions are not within reach of a kubelet, which can neither send POST requests nor signals, nor
 * reach the loopback address; images need not have a shell. Then the hook waits: callers see the pod leave its Services meanwhile.
 */
export function preStop({ drain }: SidecarPatch, options: EndOptions, values: ContainerValues): JsonObject | undefined {
  if (drain === undefined) return undefined
  if (drain.action.kind === 'command')
    return { preStop: { exec: { command: drain.action.command.map((word) => values.text(word)) } } }
  const wanted = Math.ceil((options.native ? drain.minMs : drain.maxMs) / 1000)
  // The API server refuses to wait for longer than the pod has, and some time has to be left for the end itself.
  const seconds = Math.min(wanted, options.graceSeconds - 1)
  return options.sleepingHooks && seconds >= 1 ? { preStop: { sleep: { seconds } } } : undefined
}
