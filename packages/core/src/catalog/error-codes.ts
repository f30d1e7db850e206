/** Codes of problems and errors of the catalog, with the meaning of each. */
export const catalogErrorCodes = {
  OSM_QUERY_CYCLE: 'a query of the catalog reads itself; this is a fault of the program',
  OSM_QUERY_MISUSE: 'a query of the catalog is used against its rules; this is a fault of the program',
  OSM_POLICY_ACCOUNT:
    'a policy names a service account that can have no certificate; that part of the policy is ignored',
  OSM_POLICY_PROXY_DUPLICATE:
    'several instances have one uuid, namespace and service account; the oldest has the proxy, the others have none',
  OSM_POLICY_PROXY_UUID:
    'an instance carries the uuid of an older one of another namespace or service account; each keeps a proxy of its own',
  OSM_POLICY_PROBE: 'a probe uses a port of the sidecar itself, which accepts no callers; the probe is not answered',
  OSM_POLICY_PORT_CONFLICT:
    'two ports of a Service lead to one target port but speak different protocols; the lower one holds',
  OSM_POLICY_ADDRESS_CONFLICT:
    'two services claim one address and port; the stronger claim holds, or the first by namespace and name',
  OSM_POLICY_HOST_CONFLICT: 'an instance of a headless service has the host name of another service, which holds',
  OSM_POLICY_SPLIT_PORT:
    'a backend of a TrafficSplit has no port that fits a port of the apex and gets no traffic from it',
  OSM_POLICY_SPLIT_PROTOCOL:
    'a backend of a TrafficSplit speaks another protocol than the apex and gets no traffic from it',
  OSM_POLICY_SPLIT_MATCHES:
    'a TrafficSplit with HTTP matches does not apply to ports of the apex that do not speak HTTP',
  OSM_POLICY_SPLIT_SHADOWED: 'a match of a TrafficSplit is also in another one of the same apex, which holds',
  OSM_POLICY_EGRESS_MESH:
    'an Egress names a host or an address of the mesh, which no Egress opens; allow it by a TrafficTarget',
  OSM_POLICY_EGRESS_HOST:
    'an Egress opens a protocol that has no host names, or names an address for one that has nothing else',
  OSM_POLICY_EGRESS_CONFLICT:
    'two Egress objects, or two ports of one, open a destination in two ways to the same workloads; the first by namespace and name holds',
  OSM_POLICY_EGRESS_MTLS: 'an Egress asks for a client certificate where the sidecar can show none; nothing is opened',
  OSM_POLICY_EGRESS_GATEWAY:
    'an EgressGateway names a gateway that cannot be used; without any that can, the traffic does not leave',
  OSM_POLICY_INGRESS_SOURCE: 'a source of an IngressBackend or AccessControl allows no caller',
  OSM_POLICY_INGRESS_CONFLICT:
    'two objects, or two services on one port, let in the same callers on different terms; the first one holds for them',
  OSM_POLICY_EXPORT: 'a ServiceExport is kept and has no effect: the mesh configures no gateways between clusters',
  OSM_POLICY_IMPORT: 'something that a ServiceImport offers leads nowhere and is left out',
  OSM_POLICY_ENDPOINT_ADDRESS:
    'an endpoint is known by host name only; proxies are given IP addresses, so it is left out',
  OSM_POLICY_WITHOUT_SIDECAR:
    'endpoints of a service of the mesh have no sidecar: they get no traffic, or plaintext where the MeshConfig allows it',
  OSM_POLICY_ENDPOINTS_UNSURE:
    'an endpoints provider fails; what is known of the endpoints of a service may be out of date',
} as const

/** A code of {@link catalogErrorCodes}. */
export type CatalogErrorCode = keyof typeof catalogErrorCodes
