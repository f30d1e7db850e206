/** One health probe of the proxy control plane. Exactly one of `http` and `tcpSocket` is true. */
export interface HealthProbe {
  /** HTTP path; ignored for a TCP probe. */
  readonly path: string
  /** 1 to 65535, on the loopback address of the process that called `start`. */
  readonly port: number
  /** True: GET `path`, healthy below status 400. */
  readonly http: boolean
  /** Milliseconds until an unanswered probe counts as failed. */
  readonly timeoutMs: number
  /** True: healthy when a TCP connection opens. */
  readonly tcpSocket: boolean
}

/** Health of a started proxy control plane. An absent probe always succeeds. */
export interface HealthProbes {
  /** Failing: the control plane should be restarted. */
  readonly liveness?: HealthProbe
  /** Failing: proxies should not be sent here. */
  readonly readiness?: HealthProbe
  /** Failing: not started yet; the other two probes are not used. */
  readonly startup?: HealthProbe
}
