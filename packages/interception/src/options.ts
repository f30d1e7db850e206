import type { IpFamily, IpRange } from './ip-range.js'

/** An IPv4 nameserver address, and the UDP port of the sidecar that answers in its place. */
export interface DnsCapture {
  readonly nameserver: string
  readonly port: number
}

/** What to intercept. Everything left out has the default of the mesh; lists add to what is built in. */
export interface InterceptionOptions {
  /** The user that the sidecar runs as; its own connections are not sent back to it. */
  readonly proxyUid?: number
  /** A group whose connections bypass the sidecar, beside the user of the sidecar. */
  readonly bypassGid?: number
  /** Port of the sidecar that takes connections to the workload. */
  readonly inboundListenerPort?: number
  /** Port of the sidecar that takes connections of the workload. */
  readonly outboundListenerPort?: number
  /** Administration port of the sidecar, reached over loopback only. */
  readonly adminPort?: number
  /** Ports that the sidecar itself serves to the network: metrics and probes. */
  readonly proxyServicePorts?: readonly number[]
  readonly inboundPortExclusions?: readonly number[]
  /** Connections to these ports of the machine itself, and to no other, go through the sidecar. Left out: those to every port that is not excluded. */
  readonly inboundPortInclusions?: readonly number[]
  readonly outboundPortExclusions?: readonly number[]
  readonly outboundIpRangeExclusions?: readonly string[]
  /** When not empty, connections to all other destinations pass by the sidecar, in both address families. */
  readonly outboundIpRangeInclusions?: readonly string[]
  readonly interfaceExclusions?: readonly string[]
  /** `PodIP`: connections of the sidecar to 127.0.0.1 or ::1 go to the address of the pod, for workloads that listen on nothing else. */
  readonly localProxyMode?: 'Localhost' | 'PodIP'
  /** For `PodIP`, at most one address of each family. Left out, the rules wait for it: only {@link renderInitScript} can render them. */
  readonly podAddresses?: readonly string[]
  /** Sends DNS queries for this nameserver address to a port of the sidecar on the same address. */
  readonly dnsCapture?: DnsCapture
  /**
   * Addresses of nameservers: connections to their port 53 pass by the sidecar, as queries over UDP do. Left out, the rules wait for those of the pod:
   * only {@link renderInitScript} can tell them, and {@link renderRestore} has none.
   */
  readonly nameservers?: readonly string[]
  /** `refuse` answers TCP over IPv6 with a reset: for a sidecar that speaks IPv4 only, so that nothing bypasses it. */
  readonly ipv6?: 'intercept' | 'refuse'
}

/** Options after checking: defaults filled in, ranges parsed, lists sorted and free of duplicates. */
export interface InterceptionSettings {
  readonly proxyUid: number
  readonly bypassGid: number | undefined
  readonly inboundListenerPort: number
  readonly outboundListenerPort: number
  readonly adminPort: number
  readonly proxyServicePorts: readonly number[]
  readonly inboundPortExclusions: readonly number[]
  readonly inboundPortInclusions: readonly number[] | undefined
  readonly outboundPortExclusions: readonly number[]
  readonly outboundIpRangeExclusions: readonly IpRange[]
  readonly outboundIpRangeInclusions: readonly IpRange[]
  readonly interfaceExclusions: readonly string[]
  /** `waiting`: the address is learnt inside the pod. */
  readonly podAddress: { readonly [family in IpFamily]?: string } | 'waiting' | undefined
  readonly dnsCapture: DnsCapture | undefined
  /** Sorted. `waiting`: they are read inside the pod. */
  readonly nameservers: readonly string[] | 'waiting'
  readonly ipv6: 'intercept' | 'refuse'
}

/** What the mesh uses when nothing else is said. */
export const interceptionDefaults = {
  proxyUid: 1500,
  inboundListenerPort: 15003,
  outboundListenerPort: 15001,
  adminPort: 15000,
  /** Metrics, then the liveness, readiness, startup and TCP probe listeners. */
  proxyServicePorts: [15010, 15901, 15902, 15903, 15904],
  dnsCapture: { nameserver: '127.0.0.153', port: 5300 },
} as const

/** Bounds of the lists: with all lists full, the init script still fits into one command line argument of 128 KiB. */
export const listLimits = { ports: 512, ranges: 512, interfaces: 32, nameservers: 32 } as const
