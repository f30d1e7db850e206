import type { ProxyStatus } from '@osm-ts/core'

import type { TrafficRow } from '../live/traffic-log.js'
import { allInOrder } from '../proxy/render-status.js'
import type { FlowResult } from './flow-checks.js'
import type { MtlsResult } from './mtls-check.js'
import type { SplitResult } from './split-check.js'

/** What the demo observed. */
export interface DemoObservations {
  readonly mode: 'explicit' | 'transparent'
  readonly rows: readonly TrafficRow[]
  readonly flows: readonly FlowResult[]
  readonly splits: readonly SplitResult[]
  readonly mtls: MtlsResult
  readonly proxies: readonly ProxyStatus[]
  readonly problems: readonly string[]
  /** From the connection of the last sidecar until every sidecar had applied its configuration. */
  readonly convergenceMs: number
  /** From the start until then. */
  readonly startMs: number
  readonly observedMs: number
  /** Processes of the mesh that were still there after its end. */
  readonly leftovers: readonly number[]
}

/** The result of `osm demo --once`: the last line of `--json`. */
export interface DemoReport {
  readonly ok: boolean
  readonly mode: 'explicit' | 'transparent'
  readonly requests: readonly {
    readonly client: string
    readonly target: string
    readonly path: string
    readonly allowed: number
    readonly denied: number
    readonly statuses: Readonly<Record<string, number>>
    readonly servers: Readonly<Record<string, number>>
  }[]
  readonly expectations: readonly FlowResult[]
  readonly split: readonly Omit<SplitResult, 'failures'>[]
  readonly denied: readonly Pick<
    FlowResult,
    'client' | 'target' | 'path' | 'outcome' | 'requests' | 'statuses' | 'ok'
  >[]
  readonly mtls: Omit<MtlsResult, 'failures'>
  readonly proxies: readonly {
    readonly name: string
    readonly identity: string
    readonly class: string
    readonly state: string
    readonly version: string | null
    readonly rejected: number
  }[]
  readonly convergenceMs: number
  readonly startMs: number
  readonly observedMs: number
  readonly leftovers: readonly number[]
  readonly failures: readonly string[]
}

/** Draws the conclusions. */
export function demoReport(seen: DemoObservations): DemoReport {
  const failures = [
    ...seen.flows.flatMap(({ failure }) => failure ?? []),
    ...(seen.splits.length === 0 ? ['no TrafficSplit was found in the folder'] : []),
    ...seen.splits.flatMap((split) => split.failures),
    ...seen.mtls.failures,
    ...proxyFailures(seen.proxies),
    ...seen.problems,
    ...(seen.leftovers.length === 0
      ? []
      : [`processes that should have ended still run: ${seen.leftovers.join(', ')}`]),
  ]
  return {
    ok: failures.length === 0,
    mode: seen.mode,
    requests: seen.rows.map(({ client, target, path, allowed, denied, statuses, servers }) => ({
      client,
      target,
      path,
      allowed,
      denied,
      statuses,
      servers,
    })),
    expectations: seen.flows,
    split: seen.splits.map(({ failures: _, ...split }) => split),
    denied: seen.flows
      .filter(({ outcome }) => outcome !== 'allowed')
      .map(({ client, target, path, outcome, requests, statuses, ok }) => ({
        client,
        target,
        path,
        outcome,
        requests,
        statuses,
        ok,
      })),
    mtls: { ok: seen.mtls.ok, identities: seen.mtls.identities, handshakes: seen.mtls.handshakes },
    proxies: seen.proxies.map(({ name, identity, class: sidecarClass, state, appliedVersion, rejected }) => ({
      name,
      identity,
      class: sidecarClass,
      state,
      version: appliedVersion ?? null,
      rejected: rejected.length,
    })),
    convergenceMs: seen.convergenceMs,
    startMs: seen.startMs,
    observedMs: seen.observedMs,
    leftovers: seen.leftovers,
    failures,
  }
}

function proxyFailures(proxies: readonly ProxyStatus[]): readonly string[] {
  if (proxies.length === 0) return ['no proxy was connected']
  return proxies
    .filter((status) => !allInOrder([status]))
    .map(({ name, state, rejected, denied }) => {
      const refused = rejected.map(({ kind, id, message }) => `${kind} ${id}: ${message}`)
      return [`proxy ${name} is ${state}`, ...refused, ...denied.map((id) => `${id} is in its deny form`)].join('; ')
    })
}
