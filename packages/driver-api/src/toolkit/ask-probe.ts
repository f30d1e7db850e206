import { createConnection } from 'node:net'

import type { HealthProbe } from '../health.js'

/** Asks one health probe on loopback. Never throws: an unreachable endpoint is unhealthy. */
export async function askProbe(probe: HealthProbe | undefined, signal: AbortSignal): Promise<boolean> {
  if (probe === undefined) return true
  // AbortSignal.any would stay in memory for as long as the signal lives, which is that of the program.
  const limit = new AbortController()
  const end = (): void => limit.abort()
  const timer = setTimeout(end, probe.timeoutMs)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await (probe.tcpSocket ? connects(probe.port, limit.signal) : answers(probe, limit.signal))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
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
