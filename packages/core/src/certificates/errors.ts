/** Codes of errors about certificates, with the meaning of each. */
export const certificateErrorCodes = {
  OSM_CERT_REQUEST: 'a certificate was requested with an invalid name, lifetime or key size',
  OSM_CERT_AMBIGUOUS_NAME:
    'the principal of a service account is also the server name of a service, so that one could impersonate the other',
  OSM_CERT_TOO_MANY_NAMES: 'an identity backs more services than fit into one certificate',
  OSM_CERT_ISSUE: 'the certificate provider failed to issue a certificate',
  OSM_CERT_ISSUE_TIMEOUT: 'the certificate provider did not answer in time',
  OSM_CERT_PROVIDER_UNAVAILABLE:
    'the certificate provider is unavailable, sealed or overloaded; certificates in force stay in use, and it is tried again later',
  OSM_CERT_PROVIDER_REFUSED: 'the certificate provider refused a request, or the identity of the control plane',
  OSM_CERT_APPROVAL_PENDING:
    'a request for a certificate waits for somebody to approve it; certificates in force stay in use, and it is asked for again',
  OSM_CERT_ROTATION:
    'another certificate provider is to sign, and does not sign yet: it cannot be used, or sidecars still learn to trust its root',
  OSM_CERT_ROOT_EXPIRES: 'the root of workload certificates expires within 30 days',
  OSM_CERT_PROVIDER_SETTINGS: 'the settings of a certificate provider are incomplete, contradictory or unreadable',
  OSM_CERT_ISSUED_KEY: 'the certificate provider returned a certificate for another key than that of the request',
  OSM_CERT_ISSUED_NAMES: 'the certificate provider added names to a certificate, or left names out',
  OSM_CERT_ISSUED_USAGE:
    'the certificate provider returned the certificate of a CA, or one without serverAuth or clientAuth',
  OSM_CERT_ISSUED_VALIDITY:
    'the certificate provider returned a certificate that is not valid now, or is valid longer than was asked for',
  OSM_CERT_ISSUED_SHORTENED:
    'the certificate provider shortens the lifetime of certificates; they are renewed more often',
  OSM_CERT_ISSUED_CHAIN: 'the certificate provider returned a chain that does not lead to a trusted root',
  OSM_CERT_ISSUED_CONSTRAINTS:
    'a CA in the chain of an issued certificate forbids one of its names by name constraints, so that sidecars would refuse it',
  OSM_CERT_UNKNOWN: 'a certificate to rotate was never issued, or was released',
  OSM_CERT_RELEASED: 'the proxy of a certificate was released; neither its certificate nor its name is used again',
  OSM_CERT_CLOSED: 'a certificate was requested while the process was shutting down',
  OSM_CERT_NO_KEY: 'the private key of a certificate without a private key was requested',
  OSM_CERT_KEY_PROOF:
    'the certificate provider wants a request signed by the key, and the key is with the proxy: Vault and cert-manager do',
  OSM_CERT_CA_INVALID:
    'a root cannot sign certificates of the mesh: it is not a CA, or sidecars do not support its key type',
  OSM_CERT_CA_EXPIRED: 'a root has expired, or is not valid yet',
  OSM_CERT_CA_SHARED: 'control plane and workloads have the same root; each needs its own',
  OSM_CERT_STORE_CORRUPT: 'the stored root is incomplete, is not PEM, or its key does not belong to its certificate',
  OSM_CERT_STORE_PERMISSIONS: 'the stored root is accessible to other users',
  OSM_CERT_STORE_FULL: 'there is no space left to store a root',
  OSM_CERT_STORE_IO: 'the stored root cannot be read or written',
  OSM_CERT_WORKLOAD_API:
    'the SPIFFE Workload API is unavailable to the controller, or knows no entry for it; the roots that it gave last stay in force',
  OSM_CERT_WORKLOAD_API_BUNDLE:
    'the SPIFFE Workload API gave no roots for the trust domain of the mesh, or roots that must not be trusted; the last ones stay in force',
  OSM_CERT_PEER_MALFORMED: 'the data presented by a peer is not a certificate',
  OSM_CERT_PEER_UNTRUSTED: 'the certificate of a peer was not signed by a root of the trust bundle',
  OSM_CERT_PEER_EXPIRED: 'the certificate of a peer has expired, or is not valid yet',
  OSM_CERT_PEER_USAGE: 'the certificate of a peer is a CA, or has the wrong key usage',
  OSM_CERT_PEER_NAME:
    'the names in the certificate of a peer are not those of a proxy, a service identity or the control plane',
} as const

/** A code of {@link certificateErrorCodes}. */
export type CertificateErrorCode = keyof typeof certificateErrorCodes
