import { readFileSync } from 'node:fs'

/** Ports from which listeners are chosen. */
export interface PortRange {
  readonly first: number
  /** Included. */
  readonly last: number
}

const FIRST = 20_000
/** Where the range of ephemeral ports begins on Linux unless somebody has changed it. */
const USUAL_EPHEMERAL_START = 32_768
const SMALLEST_RANGE = 2000

/**
 * Ports below those that the system gives to outgoing connections: one of them could be in use for a moment just when a listener needs it.
 */
export function listenerPortRange(ephemeralRangeFile = '/proc/sys/net/ipv4/ip_local_port_range'): PortRange {
  const start = ephemeralStart(ephemeralRangeFile)
  // A machine whose ephemeral ports begin below leaves no range that is safe; the usual one is as good as any.
  const last = (start - FIRST >= SMALLEST_RANGE ? start : USUAL_EPHEMERAL_START) - 1
  return { first: FIRST, last }
}

function ephemeralStart(file: string): number {
  try {
    const [start] = readFileSync(file, 'utf8').split(/\s+/)
    return Number(start) || USUAL_EPHEMERAL_START
  } catch {
    return USUAL_EPHEMERAL_START
  }
}
