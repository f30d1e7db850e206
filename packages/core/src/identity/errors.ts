/** Codes of invalid names. */
export const identityErrorCodes = {
  OSM_IDENTITY_NAMESPACE: 'a namespace is not a DNS-1123 label',
  OSM_IDENTITY_SERVICE_ACCOUNT: 'the name of a service account is not a DNS-1123 subdomain',
  OSM_IDENTITY_SERVICE: 'the name of a service is not a DNS-1123 subdomain',
  OSM_IDENTITY_TRUST_DOMAIN: 'the trust domain is not a DNS-1123 subdomain with labels of at most 63 characters',
  OSM_IDENTITY_CLUSTER_DOMAIN: 'the cluster domain is not a DNS-1123 subdomain with labels of at most 63 characters',
  OSM_IDENTITY_DOMAINS_OVERLAP:
    'the trust domain equals or is below svc.<cluster domain>; identities would look like service names',
  OSM_IDENTITY_SERVICE_IDENTITY: 'a value is not a service identity, <service account>.<namespace>',
  OSM_IDENTITY_PRINCIPAL:
    'a value is not a principal of the trust domain, <service account>.<namespace>.<trust domain>',
  OSM_IDENTITY_SPIFFE_ID:
    'a value is not a SPIFFE ID of the trust domain, spiffe://<trust domain>/<service account>/<namespace>',
  OSM_IDENTITY_PROXY_UUID: 'the id of a proxy is not an RFC 4122 UUID in lower case',
  OSM_IDENTITY_PROXY_NAME:
    'a value is not the common name of a proxy, <uuid>.sidecar.<service account>.<namespace>.<trust domain>',
} as const

/** A code of {@link identityErrorCodes}. */
export type IdentityErrorCode = keyof typeof identityErrorCodes
