import { onAbort } from '@osm-ts/driver-api/toolkit'

import type { Clock } from '../certificates/clock.js'

/** Waits; ends at once when the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(() => {
      letGo()
      resolve()
    }, delayMs)
    const letGo = onAbort(signal, () => {
      cancel()
      resolve()
    })
  })
}
