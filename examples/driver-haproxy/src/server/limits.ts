/** Bounds of the server. All times are in milliseconds. */
export const limits = {
  /** Connections at the same time, no matter who they come from. */
  maxConnections: 16_384,
  handshakeTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  /** The longest carries 2 kB of words in its path, escaped. */
  maxHeaderBytes: 16 * 1024,
  /** A poll is answered by then if nothing changes. */
  pollTimeoutMs: 25_000,
  /** A reader that has not taken an answer by then is cut off. */
  writeTimeoutMs: 30_000,
  /** A sidecar that did not poll for so long is not connected. */
  silenceMs: 60_000,
  sweepMs: 5_000,
  /** Work on policies between two looks at the network. */
  turnMs: 10,
  /** From the end until connections are cut. */
  closeGraceMs: 200,
} as const
