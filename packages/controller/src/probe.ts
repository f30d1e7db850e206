import { createConnection } from 'node:net'

import { Deadline } from '@osm-ts/core'
import type { HealthProbe } from '@osm-ts/driver-api'

/** Asks one health probe on loopback. Never throws: what can't be reached is not healthy. */
export async function askProbe(probe: HealthProbe | undefined, signal: AbortSignal): Promise<boolean> {
  if (probe === undefined) return true
  const limit = new Deadline(signal, probe.timeout)
  try {
    return await (probe.tcpSocket ? connects(probe.port, limit.signal) : answers(probe, limit.signal))
  } finally {
    limit.release()
  }
}

async function answers(probe: HealthProbe, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${probe.port}${probe.path}`, { signal, redirect: 'manual' })
    await response.body?.cancel()
    return response.status < 400
  } catch {
    // Refused, reset or too slow all mean the same here: not healthy.
    return false
  }
}

function connects(port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, signal })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => {
      resolve(false)
    })
  })
}
