import type { Refusal } from '@osm-ts/driver-api/policy'

/** Where a server of a section stands. What the runtime interface of HAProxy can change is all here. */
export interface Slot {
  /** Name of the section. */
  readonly section: string
  /** Name of the server in it. */
  readonly server: string
  /** Absent: the place is not taken. */
  readonly endpoint?: { readonly address: string; readonly port: number; readonly weight: number }
}

/** A file beside haproxy.cfg. Holds nothing secret. */
export interface ConfigFile {
  readonly name: string
  readonly content: string
  /** True: a map, of whose lines the keys belong to the layout; values change through the runtime interface. */
  readonly live?: true
}

/** What one proxy is told, without its certificate. */
export interface HaproxyDocument {
  /** Hash of all that is neither an endpoint nor a share: while it stays, those change through the runtime interface. It is the `description` of the configuration. */
  readonly layout: string
  /** Hashes of what lets callers in, sorted: when one of them goes, what the configuration before let in ends within {@link withdrawalMs}. */
  readonly access: readonly string[]
  /** Milliseconds. */
  readonly withdrawalMs: number
  /** haproxy.cfg, with the endpoints of the moment. */
  readonly config: string
  readonly slots: readonly Slot[]
  readonly files: readonly ConfigFile[]
}

/** What became of a policy. */
export interface Translation {
  readonly document: HaproxyDocument
  /** What is left out of it. */
  readonly refusals: readonly Refusal[]
}

/** Names of files, relative to the folder of the sidecar. */
export const fileNames = {
  /** Certificate and key of the identity; brought by the agent. */
  certificate: 'service.pem',
  roots: 'roots.pem',
  hosts: 'hosts.map',
  /** In transparent mode: what the workload dials. */
  addresses: 'addresses.map',
  shares: 'shares.map',
  /** What opens connections for TCP probes. */
  connects: 'connects.lua',
  runtime: 'haproxy.sock',
} as const
