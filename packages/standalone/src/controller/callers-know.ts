import { setTimeout as pause } from 'node:timers/promises'
import { Deadline } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'

const PERIOD_MS = 100
const TIMEOUT_MS = 1500

/** A sidecar that has lost its controller tries again within ten seconds, and is told then. One that stays away longer has most likely ended. */
const LOST_MS = 20_000

/** What is read of a proxy. */
export interface CallerStatus {
  readonly uuid: string
  readonly connected: boolean
  readonly ready: boolean
  readonly state: string
}

/**
 * Waits until no sidecar sends an instance anything new: the controller has taken it out of service, and every sidecar that is in service has applied that, or
 * has refused it. A sidecar that is not connected keeps what it has applied, and sends on; it is waited for as long as it may return. Resolves when the
 * signal aborts as well.
 *
 * @param ask - where the proxies stand; undefined while no one knows
 * @param clock - milliseconds since any moment
 */
export async function untilCallersKnow(
  uuid: string,
  ask: (signal: AbortSignal) => Promise<readonly CallerStatus[] | undefined>,
  signal: AbortSignal,
  clock = (): number => performance.now(),
): Promise<void> {
  const disconnectedSince = new Map<string, number>()
  while (!signal.aborted) {
    const proxies = await ask(signal)
    const now = clock()
    for (const { uuid: caller, connected } of proxies ?? []) {
      if (connected) disconnectedSince.delete(caller)
      else if (!disconnectedSince.has(caller)) disconnectedSince.set(caller, now)
    }
    const isLost = (caller: string): boolean => now - (disconnectedSince.get(caller) ?? now) >= LOST_MS
    if (proxies !== undefined && isOutOfService(uuid, proxies, isLost)) return
    await pause(PERIOD_MS, undefined, { signal }).catch(() => undefined)
  }
}

function isOutOfService(uuid: string, proxies: readonly CallerStatus[], isLost: (caller: string) => boolean): boolean {
  if (proxies.some((proxy) => proxy.uuid === uuid && proxy.ready)) return false
  return proxies.every(({ uuid: caller, connected, ready, state }) => {
    if (!ready || caller === uuid) return true
    return connected ? state !== 'unknown' : isLost(caller)
  })
}

/**
 * Asks a controller where its proxies stand. Nothing if it does not run: then no one can be told anything.
 *
 * @param url - of its debug server; undefined while it does not run
 */
export async function askForCallers(
  url: string | undefined,
  signal: AbortSignal,
): Promise<readonly CallerStatus[] | undefined> {
  if (url === undefined) return []
  const limit = new Deadline(signal, TIMEOUT_MS)
  try {
    const response = await fetch(`${url}/debug/status`, { signal: limit.signal })
    const body: unknown = await response.json()
    return isRecord(body) && Array.isArray(body.proxies) ? body.proxies.filter(isCallerStatus) : undefined
  } catch {
    return undefined
  } finally {
    limit.release()
  }
}

function isCallerStatus(value: unknown): value is CallerStatus {
  return (
    isRecord(value) &&
    typeof value.uuid === 'string' &&
    typeof value.connected === 'boolean' &&
    typeof value.ready === 'boolean' &&
    typeof value.state === 'string'
  )
}
