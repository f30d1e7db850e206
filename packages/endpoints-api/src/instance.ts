/** One running copy of a service: a machine, or a process on one. */
export interface Instance {
  /** Unique and stable among the instances of a service in one answer, such as the resource ID of a virtual machine. At most 512 characters. */
  readonly id: string
  /**
   * IP addresses that proxies can connect to, the preferred one first; at most 8. IPv4 in dotted form, IPv6 without
   * brackets and zone. The host refuses addresses that a provider must not announce, such as loopback and link-local ones, and uses the first of the others.
   */
  readonly addresses: readonly string[]
  /**
   * Ports by name, for Services whose `targetPort` is a name. A port whose name is that of a port of the Service
   * replaces its `targetPort` for this instance, so that instances may listen on different ports. Without an entry, the numeric `targetPort` of the Service applies, or its `port`.
   */
  readonly ports?: readonly InstancePort[]
  /** Service account that the instance runs as, in the namespace of the service. Absent: callers accept no identity, and a meshed instance receives no traffic. */
  readonly serviceAccount?: string
  /** False: the instance exists but takes no traffic, for example because it is starting or stopped. Its identity still belongs to the service. */
  readonly ready: boolean
  /** Where the instance runs. */
  readonly locality?: InstanceLocality
  /** Share of the traffic among the instances of the service, 0 to 1000. Absent: 100. */
  readonly weight?: number
  /** The sidecar in front of the instance. Absent: the instance is outside the mesh and is called in plain text, where the mesh allows that. */
  readonly sidecar?: InstanceSidecar
  /** The network that the instance is in. Absent: that of the mesh. */
  readonly network?: InstanceNetwork
}

/** A named port of an instance. */
export interface InstancePort {
  /** Name of a `targetPort`, or of a port of the Service; empty for a port without a name. */
  readonly name: string
  /** 1 to 65535. */
  readonly port: number
}

/** The sidecar in front of an instance. */
export interface InstanceSidecar {
  /** Sidecar class. Absent: the default class of the mesh. */
  readonly class?: string
}

/** Where an instance runs; each value is empty if unknown. */
export interface InstanceLocality {
  readonly region: string
  readonly zone: string
  readonly subZone: string
}

/** A network that is not routed to others. */
export interface InstanceNetwork {
  /** DNS label. Instances and machines of one network reach each other by their own addresses. */
  readonly name: string
  /**
   * What passes connections of others on, by their server name and without ending TLS. Its address is refused as those of instances are, and the instance with it. Absent: others reach the instance by its own address.
   */
  readonly gateway?: { readonly address: string; readonly port?: number }
}
