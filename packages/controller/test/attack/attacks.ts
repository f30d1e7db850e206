/** What a peer of the tests does, each on a new connection. */
export type PeerName = 'proxy' | 'worker' | 'review' | 'health'

/** An attack on each of the five servers of a controller, from several addresses at the same time. */
export interface Attack {
  readonly kind: 'silence' | 'four bytes' | 'half handshakes' | 'slow headers' | 'reconnects'
  /** Addresses that the connections come from. */
  readonly sources: number
  /** Connections a second with each server. Those of `reconnects` leave after a tenth of a second, the others stay. */
  readonly rate: number
  /** Connections with all servers, after which the attack makes no others. */
  readonly most: number
}

/** What one attack did. Times in milliseconds. */
export interface AttackFigures {
  readonly attack: Attack
  /** Connections that attackers have made. */
  readonly connections: number
  /** The longest that each peer has waited, without the time in which the machine gave the servers no processor. */
  readonly slowest: Readonly<Record<PeerName, number>>
  /** The longest turn of the event loop of the servers, by the processor time that it took. */
  readonly longestBlockMs: number
  /** By how much the resident memory of the servers has grown, at its highest. */
  readonly growthBytes: number
  /** Peers that were refused, with the reason. */
  readonly failures: readonly string[]
  /** Servers that have counted connections as closed. */
  readonly reporting: readonly string[]
}

/** What an attack must not exceed. */
export const bounds = {
  slowest: { proxy: 2_000, worker: 2_000, review: 1_000, health: 1_000 } satisfies Record<PeerName, number>,
  longestBlockMs: 100,
  growthBytes: 50 * 1024 * 1024,
} as const

/** Silence is that of the review that found the servers open, at more than twice its rate. The others are what a single machine can do. */
export const attacks: readonly Attack[] = [
  { kind: 'silence', sources: 4, rate: 100, most: 8_000 },
  { kind: 'four bytes', sources: 8, rate: 500, most: 10_000 },
  { kind: 'half handshakes', sources: 4, rate: 60, most: 5_000 },
  { kind: 'slow headers', sources: 4, rate: 40, most: 1_000 },
  { kind: 'reconnects', sources: 8, rate: 200, most: 10_000 },
]

/** True if all figures are within {@link bounds}. */
export function holds({ slowest, longestBlockMs, growthBytes, failures }: AttackFigures): boolean {
  return (
    failures.length === 0 &&
    longestBlockMs < bounds.longestBlockMs &&
    growthBytes < bounds.growthBytes &&
    Object.entries(bounds.slowest).every(([name, most]) => slowest[name as PeerName] < most)
  )
}
