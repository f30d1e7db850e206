/** Codes of problems and errors of the catalog. */
export const catalogErrorCodes = {
  OSM_QUERY_CYCLE: 'a query of the catalog reads itself; this is a bug',
  OSM_QUERY_MISUSE: 'a query of the catalog is used against its rules; this is a bug',
  OSM_POLICY_ACCOUNT:
    'a policy names a service account that cannot have a certificate; that part of the policy is ignored',
  OSM_POLICY_PROXY_DUPLICATE:
    'several instances have the same uuid, namespace and service account; only the oldest gets a proxy',
  OSM_POLICY_PROXY_UUID:
    'an instance has the same uuid as an older instance with another namespace or service account; each keeps its own proxy',
  OSM_POLICY_PROBE: 'a probe uses a port of the sidecar itself, which accepts no callers; the probe is not answered',
  OSM_POLICY_PORT_CONFLICT:
    'two ports of a Service have the same target port but different protocols; the lower port takes precedence',
  OSM_POLICY_ADDRESS_CONFLICT:
    'two services have the same address and port; the stronger claim takes precedence, else the first by namespace and name',
  OSM_POLICY_ADDRESS_WRITTEN:
    'clients that dial an address of a headless Service are not led to the Service: the address is only written down',
  OSM_POLICY_HOST_CONFLICT:
    'an instance of a headless service has the host name of another service, which takes precedence',
  OSM_POLICY_SPLIT_PORT:
    'a backend of a TrafficSplit has no port that matches a port of the apex and gets no traffic from it',
  OSM_POLICY_SPLIT_PROTOCOL:
    'a backend of a TrafficSplit has another protocol than the apex and gets no traffic from it',
  OSM_POLICY_SPLIT_MATCHES: 'a TrafficSplit with HTTP matches does not apply to ports of the apex without HTTP',
  OSM_POLICY_SPLIT_SHADOWED: 'another TrafficSplit of the same apex has the same match and takes precedence',
  OSM_POLICY_SPLIT_ROUTED: 'a TrafficSplit does not apply to a port of its apex that has a route of the Gateway API',
  OSM_POLICY_ROUTE_PARENT:
    'a route is attached to a Service or port that the mesh does not route; it does not apply there',
  OSM_POLICY_ROUTE_CONFLICT: 'a route does not apply to a Service port because another route takes precedence',
  OSM_POLICY_ROUTE_BACKEND:
    'a backend of a route does not exist; its share of requests gets an error, its share of connections is closed',
  OSM_POLICY_ROUTE_PROTOCOL:
    'a backend has another protocol than its route; its share of requests gets an error, its share of connections is closed',
  OSM_POLICY_EGRESS_MESH:
    'an Egress names a host or address of the mesh and does not apply to it; allow it with a TrafficTarget',
  OSM_POLICY_EGRESS_HOST:
    'an Egress has hosts for a protocol without host names, or an address for a protocol that needs host names',
  OSM_POLICY_EGRESS_CONFLICT:
    'two Egress objects, or two ports of one, conflict for the same workloads; the first by namespace and name takes precedence',
  OSM_POLICY_EGRESS_MTLS:
    'an Egress requires a client certificate that the sidecar cannot present; no traffic is allowed',
  OSM_POLICY_EGRESS_GATEWAY:
    'an EgressGateway references an unusable gateway; without a usable gateway the traffic is refused',
  OSM_POLICY_INGRESS_SOURCE: 'a source of an IngressBackend or AccessControl allows no caller',
  OSM_POLICY_INGRESS_CONFLICT:
    'two objects, or two services on one port, allow the same callers with different settings; the first takes precedence',
  OSM_POLICY_EXPORT:
    'a ServiceExport is accepted but has no effect: the mesh does not configure gateways between clusters',
  OSM_POLICY_IMPORT: 'a part of a ServiceImport has no valid destination and is ignored',
  OSM_POLICY_ENDPOINT_ADDRESS: 'an endpoint has a host name only; proxies need IP addresses, so it is ignored',
  OSM_POLICY_NETWORK_GATEWAY:
    'endpoints in another network get no traffic: their gateway cannot forward connections to them',
  OSM_POLICY_WITHOUT_SIDECAR:
    'endpoints of a mesh service have no sidecar: they get no traffic, or plaintext if the MeshConfig allows it',
  OSM_POLICY_ENDPOINTS_UNSURE: 'an endpoints provider fails; the endpoints of a service may be outdated',
} as const

/** A code of {@link catalogErrorCodes}. */
export type CatalogErrorCode = keyof typeof catalogErrorCodes
