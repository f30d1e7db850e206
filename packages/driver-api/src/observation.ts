/** Something that is wrong with a proxy and stands in no part of its policy. */
export interface ProxyCondition {
  /** Error code of the driver: stable, and listed with its other codes. */
  readonly code: string
  /** For operators: what is wrong, and what comes of it. At most 4,096 characters, without key material. */
  readonly message: string
}

/** Somebody who wanted to be a proxy, or asked as one for what it may not have, and was turned away. */
export interface RefusedPeer extends ProxyCondition {
  /** IP address that it came from. */
  readonly address: string
  /** Common name of its certificate, which a root of the control plane has signed; absent where nothing is proven. */
  readonly commonName?: string
}

/** What a driver sees of its proxies beside what became of their policies. */
export type ProxyObservation =
  /** All that is wrong with the proxy of that session now: takes the place of what was said of it before. */
  | { readonly session: string; readonly conditions: readonly ProxyCondition[] }
  /** It has just happened. */
  | { readonly refused: RefusedPeer }
