import { proxyAdmissionLimits } from '@osm-ts/driver-api/toolkit'

/** Bounds of the xDS server. All times are in milliseconds. */
export const limits = {
  /** A proxy needs one stream; a few more let it reconnect before the old one is gone. */
  maxConcurrentStreams: 8,
  /** First requests of a delta stream list every resource that the proxy has: 10,000 names with versions are about 1.5 MB. */
  maxRequestBytes: 4 * 1024 * 1024,
  /** Names that a stream may ask for, over all types. */
  maxSubscribedNames: 50_000,
  /** Unsent bytes that one connection may hold, in megabytes. */
  maxSessionMemoryMb: 64,
  /** How long a peer that is asked whether it is there may take to answer. */
  keepaliveTimeoutMs: 10_000,
  /** How long a connection may stay without a stream. */
  maxConnectionIdleMs: 60_000,
  /**
   * Connections until a stream is authenticated, which needs a turn of the host after the handshake, and from then on. A proxy needs one connection; a few
   * more let it reconnect before the old one is gone. None is anonymous: the handshake fails without a certificate.
   */
  connections: {
    ...proxyAdmissionLimits,
    handshaking: { ...proxyAdmissionLimits.handshaking, timeoutMs: 20_000 },
    anonymous: { max: 0, maxPerKey: 0 },
    authenticated: { max: 32_768, maxPerKey: 32 },
  },
  /** Connections between their turn and their first configuration, and how long one of them counts once it is known whose it is. */
  maxArrivals: 96,
  arrivalTurnMs: 250,
  /** Responses that may be on their way at the same moment: grpc-js copies each response for each stream, and Node.js encrypts them in one turn. */
  maxWritesInFlight: 32,
  /** More of them may be while they are smaller than this together. */
  smallWriteBytes: 1024 * 1024,
  /** After that a write no longer counts: a slow proxy must not hold up others. */
  slowWriteMs: 1_000,
  /** A proxy that does not read for so long is cut off. */
  writeTimeoutMs: 60_000,
  /** From the status of a stream until its connection is closed, where it has to be. */
  closeGraceMs: 200,
  /**
   * A proxy that refuses a certificate for its own key is asked to return this long after its stream began, at the earliest. One that may have refused it gets
   * another one as often at most.
   */
  refusedCertificateMs: 5_000,
  /** Over this time streams are asked to return after a root was withdrawn that their certificates may come from. */
  reauthenticateSpreadMs: 10_000,
  /** How long what was made for a proxy is kept after it has gone, and for how many at most. Envoy waits 30 s at most before it returns. */
  keepResourcesMs: 60_000,
  maxKeptProxies: 10_000,
  /** How long a report of what a proxy has applied waits for its next answer; up to twice as long. */
  lateMs: 500,
  /** Work on policies between two looks at the network. */
  turnMs: 10,
} as const
