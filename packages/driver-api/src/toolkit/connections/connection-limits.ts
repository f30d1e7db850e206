import type { PoolLimits } from './connection-pool.js'

/**
 * What a connection of a server goes through. `silent`: it has sent no complete first message. `waiting`: it waits for its turn to shake hands.
 * `handshaking`: TLS, and proving who it is where a server requests that later. `anonymous`: open, of a peer without a verified certificate.
 * `authenticated`: open, of a peer with one.
 */
export type ConnectionStage = 'silent' | 'waiting' | 'handshaking' | 'anonymous' | 'authenticated'

/** How many connections may be in a stage, and for how long. */
export interface StageLimits extends PoolLimits {
  /** Milliseconds until the connection is closed. */
  readonly timeoutMs: number
}

/** How connections wait for their handshake. */
export interface WaitingLimits extends StageLimits {
  /** Once the oldest connection of a source has waited so long, its newest comes first. Milliseconds, shorter than peers wait. */
  readonly newestFirstAfterMs: number
}

/** How many connections shake hands at a time. */
export interface HandshakeLimits extends StageLimits {
  /** Connections whose handshake others wait for. */
  readonly turns: number
  /** Of these, those of one source. Less than {@link turns}, so that another source needs not wait for it. */
  readonly turnsPerSource: number
  /** A handshake that takes longer continues, but others no longer wait for it. Milliseconds. */
  readonly turnMs: number
}

/**
 * Limits of the connections of one server. Keys of the first four stages are source addresses, IPv6 by /64; keys of `authenticated` are identities.
 */
export interface ServerConnectionLimits {
  /** Of connections without a complete first message. */
  readonly silent: StageLimits
  /** Of connections that wait for their handshake. */
  readonly waiting: WaitingLimits
  /** Of connections in their handshake. */
  readonly handshaking: HandshakeLimits
  /** Of open connections of peers without a verified certificate. */
  readonly anonymous: PoolLimits
  /** Of open connections of peers with one. */
  readonly authenticated: PoolLimits
}

/**
 * Limits until a connection is open, for servers with few peers. A raw socket takes about 6 kB, one in its handshake about 40 kB: those of all servers of a
 * program together stay below 50 MB.
 */
export const admissionLimits = {
  silent: { max: 512, maxPerKey: 256, timeoutMs: 5_000 },
  waiting: { max: 512, maxPerKey: 384, timeoutMs: 6_000, newestFirstAfterMs: 2_500 },
  handshaking: { max: 96, maxPerKey: 64, timeoutMs: 10_000, turns: 16, turnsPerSource: 12, turnMs: 500 },
} as const satisfies Pick<ServerConnectionLimits, 'silent' | 'waiting' | 'handshaking'>

/** The same for servers of proxies, thousands of which may return at once, from one address too. Sidecars wait 5 s for a connection with TLS. */
export const proxyAdmissionLimits = {
  silent: { max: 1_024, maxPerKey: 512, timeoutMs: 5_000 },
  waiting: { max: 3_072, maxPerKey: 2_560, timeoutMs: 6_000, newestFirstAfterMs: 2_500 },
  handshaking: { max: 256, maxPerKey: 192, timeoutMs: 10_000, turns: 32, turnsPerSource: 26, turnMs: 500 },
} as const satisfies Pick<ServerConnectionLimits, 'silent' | 'waiting' | 'handshaking'>

/** Connections that the kernel holds for a server until it accepts them; with fewer, a flood turns new peers away before any limit sees them. */
export const listenBacklog = 4_096
