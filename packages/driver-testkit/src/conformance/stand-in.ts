import type { Credential } from '@osm-ts/driver-api'

/** How a stand-in reaches the control plane of a driver. */
export interface StandInOptions {
  /** Of the loopback address 127.0.0.1. */
  readonly port: number
  /** PEM: what the control plane is verified by. */
  readonly roots: string
  /** DNS name in the certificate of the control plane. */
  readonly serverName: string
  readonly credential: Credential
  /** Of the proxy that it stands for; no control plane may believe it. */
  readonly uuid: string
  /** `<service account>.<namespace>`; no control plane may believe it either. */
  readonly identity: string
  /** Aborts when the check that uses it is over. */
  readonly signal: AbortSignal
}

/**
 * What the proxy thinks of the configuration that it would have after a message: undefined if it takes it, else the words by which it refuses.
 * A refused message leaves the configuration as it was.
 */
export type Judge = (configuration: string) => string | undefined

/** A connection of a simulated proxy. */
export interface StandInSession {
  /**
   * The configuration in force, in one canonical text that is the same for the same configuration: without certificates and keys, and without what
   * numbers messages. Empty before the first.
   */
  readonly configuration: string
  /** Certificates and keys that came, as text. */
  readonly credentials: string
  /** Messages with a configuration that have come, taken or not. */
  readonly messages: number
  /** Resolves when the driver has ended the connection, or does not answer its proxy any more. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/**
 * What stands for the proxies of a driver in level 0: it speaks their protocol, and does with configurations what it is told. A driver's package brings it as a module
 * that exports it as `standIn`, named by `osmDriver.standIn` of its package.json or by `--stand-in`.
 */
export interface StandIn {
  /** Connects. Never rejects for what the control plane does: then the session has ended. */
  connect(options: StandInOptions, judge: Judge): Promise<StandInSession>
}
