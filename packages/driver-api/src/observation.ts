/** A problem of a proxy that is not related to a part of its policy. */
export interface ProxyCondition {
  /** Stable error code of the driver, listed with its other codes. */
  readonly code: string
  /** For operators: the problem and its effect. At most 4,096 characters, without key material. */
  readonly message: string
}

/** A peer that was refused as a proxy, or a proxy whose request was refused. */
export interface RefusedPeer extends ProxyCondition {
  /** IP address of the peer. */
  readonly address: string
  /** Common name of its certificate, if a root of the control plane has signed it; otherwise absent. */
  readonly commonName?: string
}

/** Observations of a driver about its proxies, in addition to apply reports. */
export type ProxyObservation =
  /** All current problems of the proxy of that session; replaces earlier reports. */
  | { readonly session: string; readonly conditions: readonly ProxyCondition[] }
  /** A refusal that has just happened. */
  | { readonly refused: RefusedPeer }
