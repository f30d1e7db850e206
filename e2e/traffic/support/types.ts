import type { Difference, Json } from './compare.js'

export type { Json } from './compare.js'

/** Sidecar classes that the corpus runs with. */
export type SidecarClass = 'envoy' | 'pipy'

/** A real server. */
export interface TrafficServer {
  /** Name of its Service, unique in its corpus. */
  readonly name: string
  /** What the page calls it, with where it comes from. */
  readonly title: string
  readonly port: number
  /** `appProtocol` of the port of its Service. */
  readonly appProtocol: string
  /** Listens on `port` of all addresses. */
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** One thing that a client does with a server. Clients know more of it than a name. */
export interface Exchange {
  readonly name: string
}

/** What a client does with one server: its input has a list of these. */
export interface TrafficTarget {
  readonly server: string
  readonly host: string
  /** Address of the Service. */
  readonly address: string
  readonly port: number
  readonly exchanges: readonly Exchange[]
}

/**
 * A real client. It reads `{"targets": [TrafficTarget]}` from its standard input, and prints one JSON document: by server and by
 * exchange what it has seen.
 */
export interface TrafficClient {
  readonly name: string
  /** What the page calls it, with where it comes from. */
  readonly title: string
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** A client that talks to a server. */
export interface TrafficPair {
  readonly client: TrafficClient
  readonly server: TrafficServer
  /** As the page says it, such as `HTTP/1.1`. */
  readonly protocol: string
  readonly exchanges: readonly Exchange[]
}

/** Why something differs, and what a user can do about it. */
export interface Explanation {
  /** Stands in the cells of the page. */
  readonly id: string
  readonly what: string
  readonly reason: string
  /** The setting that governs it, or `none`. */
  readonly switch: string
  readonly explains: (difference: Difference, pair: TrafficPair, sidecarClass: SidecarClass) => boolean
  /** True where chance decides whether it shows: the page names it for all pairs of the class. */
  readonly varies?: (sidecarClass: SidecarClass) => boolean
}

/** A set of pairs that runs in one mesh. */
export interface Corpus {
  readonly name: string
  readonly servers: readonly TrafficServer[]
  readonly pairs: readonly TrafficPair[]
  /** Brings what a client has seen of an exchange into a form in which only what matters can differ. */
  readonly canonical: (seen: Json) => Json
  readonly explanations: readonly Explanation[]
}
