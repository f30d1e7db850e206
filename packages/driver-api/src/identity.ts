declare const brand: unique symbol
/** A string that only its own parser or constructor creates. */
export type Branded<T, B extends string> = T & { readonly [brand]: B }

/** `<service-account>.<namespace>`. The service account may contain dots; the namespace cannot. */
export type ServiceIdentity = Branded<string, 'ServiceIdentity'>

/** `<service-account>.<namespace>.<trust-domain>`: the common name and a DNS SAN of service certificates. */
export type Principal = Branded<string, 'Principal'>

/** `spiffe://<trust-domain>/<service-account>/<namespace>`: the URI SAN of service certificates. */
export type SpiffeId = Branded<string, 'SpiffeId'>

/**
 * RFC 4122 text form, lower case. New for every admitted sidecar, but not a secret: it identifies a proxy only together with namespace
 * and service account, as in {@link ProxyCommonName}.
 */
export type ProxyUUID = Branded<string, 'ProxyUUID'>

/** Common name of a proxy certificate: `<uuid>.sidecar.<service-account>.<namespace>.<trust-domain>`. */
export type ProxyCommonName = Branded<string, 'ProxyCommonName'>

/** A namespaced service. `name` may be `<hostname>.<service>` for one pod of a headless service. */
export interface MeshService {
  /** Namespace of the service. */
  readonly namespace: string
  /** Name within the namespace. */
  readonly name: string
}

/** A namespaced service account. */
export interface ServiceAccountRef {
  /** Namespace of the service account. */
  readonly namespace: string
  /** Name within the namespace. */
  readonly name: string
}
