import { proxyAdmissionLimits } from '@osm-ts/driver-api/toolkit'

/** Bounds of the repo server. All times are in milliseconds. */
export const limits = {
  /**
   * Connections of all workers, and those until a worker has proven by TLS who it is. None is anonymous: the handshake fails without a certificate. Of one
   * worker there are twice as many as it may use, so that it is told which of its connections are too many.
   */
  connections: {
    ...proxyAdmissionLimits,
    anonymous: { max: 0, maxPerKey: 0 },
    authenticated: { max: 32_768, maxPerKey: 64 },
  },
  /** Connections of one worker: a few for each thread, and those of a worker that it has just taken the place of. */
  maxConnectionsOfWorker: 32,
  /** Long polls of one worker that wait at the same time. */
  maxPollsOfWorker: 8,
  /** Admin links of one worker: that of a worker that has just gone may look open for a while. The oldest gives way. */
  maxLinksOfWorker: 2,
  /** From the first byte of a request until its headers, and its body, are there. */
  requestTimeoutMs: 10_000,
  /** Bytes of the headers of a request. The longest carries an error of 2 kB in its path. */
  maxHeaderBytes: 16 * 1024,
  /** Bytes of a status report: 0.4 to 3 kB without metrics, and what the worker has logged. */
  maxBodyBytes: 256 * 1024,
  /** A connection without a request is closed; workers ask every 5 s. */
  keepAliveTimeoutMs: 20_000,
  /** A reader that has not taken an answer by then is cut off. */
  writeTimeoutMs: 30_000,
  /** A long poll is answered by then if nothing changes, give or take {@link pollJitter}. */
  pollTimeoutMs: 25_000,
  /** Share by which a poll may end earlier or later, so that those of many workers spread. */
  pollJitter: 0.1,
  /** A worker that was silent for so long is not connected. */
  silenceMs: 15_000,
  /** A configuration, or a codebase, that is not in force by then is pushed by the admin link. */
  staleAfterMs: 15_000,
  /** The longest time between two pushes; it doubles with each. */
  maxPushIntervalMs: 300_000,
  /** A worker may start before its workload is known here. It retries a refused download after 5 s only, so it is refused no sooner than this. */
  unknownWorkerMs: 4_000,
  /** How often such a workload is looked up. */
  unknownWorkerRetryMs: 100,
  /** A credential that a policy names is waited for so long before the policy goes out without it. */
  credentialTimeoutMs: 1_000,
  /** How often workers are checked for the four above. */
  sweepMs: 1_000,
  /** Bytes of one message of a worker on the admin link. Nothing that it says there is used. */
  maxLinkFrameBytes: 64 * 1024,
  /** Over this time workers are asked to return after a root was withdrawn that their certificates may come from. */
  reauthenticateSpreadMs: 10_000,
  /** From the end of the last answer until connections are cut when the server stops. */
  closeGraceMs: 200,
  /** Refused requests of one connection that are told of; a peer can ask as often as it likes. */
  maxToldRefusals: 5,
  /** From a line in the log about a peer that was refused to the next one about the same; workers try again every 5 s. */
  refusalLogMs: 300_000,
  /** Plugins of one worker that can fail at the same time. */
  maxPluginFaults: 256,
  /** How long it is told that a plugin has failed when it does not fail again. */
  pluginFailureMs: 600_000,
  /** Work on policies between two looks at the network. */
  turnMs: 10,
} as const

/** Those of {@link limits} that a test cannot wait for. */
export type Timing = Readonly<Record<'pollTimeoutMs' | 'writeTimeoutMs' | 'sweepMs', number>>
