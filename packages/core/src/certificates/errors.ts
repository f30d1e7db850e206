/** Codes of errors about certificates. */
export const certificateErrorCodes = {
  OSM_CERT_REQUEST: 'a certificate was requested with an invalid name, lifetime or key size',
  OSM_CERT_AMBIGUOUS_NAME:
    'the principal of a service account equals the server name of a service; one could impersonate the other',
  OSM_CERT_TOO_MANY_NAMES: 'an identity backs more services than one certificate can name',
  OSM_CERT_ISSUE: 'the certificate provider failed to issue a certificate',
  OSM_CERT_ISSUE_TIMEOUT: 'the certificate provider did not respond in time',
  OSM_CERT_PROVIDER_UNAVAILABLE:
    'the certificate provider is unavailable, sealed or overloaded; current certificates stay in use, and requests are retried',
  OSM_CERT_PROVIDER_REFUSED: 'the certificate provider refused a request, or the identity of the control plane',
  OSM_CERT_APPROVAL_PENDING:
    'a certificate request awaits approval; current certificates stay in use, and the request is retried',
  OSM_CERT_ROTATION:
    'a change of the certificate provider is pending: the next provider is unusable, or some sidecars do not trust its root yet',
  OSM_CERT_ROOT_EXPIRES: 'the root of workload certificates expires within 30 days',
  OSM_CERT_PROVIDER_SETTINGS: 'the settings of a certificate provider are incomplete, contradictory or unreadable',
  OSM_CERT_ISSUED_KEY: 'the certificate provider returned a certificate for a different key than requested',
  OSM_CERT_ISSUED_NAMES: 'the certificate provider added names to a certificate, or omitted names',
  OSM_CERT_ISSUED_USAGE:
    'the certificate provider returned a CA certificate, or a certificate without serverAuth or clientAuth',
  OSM_CERT_ISSUED_VALIDITY:
    'the certificate provider returned a certificate that is not currently valid, or is valid longer than requested',
  OSM_CERT_ISSUED_SHORTENED:
    'the certificate provider shortens the lifetime of certificates; they are renewed more frequently',
  OSM_CERT_ISSUED_CHAIN: 'the certificate provider returned a chain that does not lead to a trusted root',
  OSM_CERT_ISSUED_CONSTRAINTS:
    'name constraints of a CA in the chain exclude a name of an issued certificate; sidecars would reject it',
  OSM_CERT_UNKNOWN: 'a certificate to rotate was never issued, or was released',
  OSM_CERT_RELEASED: 'the proxy of a certificate was released; its certificate and name are not reused',
  OSM_CERT_CLOSED: 'a certificate was requested while the process was shutting down',
  OSM_CERT_NO_KEY: 'the private key of a certificate without a private key was requested',
  OSM_CERT_KEY_PROOF:
    'the certificate provider, such as Vault or cert-manager, requires a request signed with the key, but only the proxy has the key',
  OSM_CERT_CA_INVALID:
    'a root cannot sign certificates of the mesh: it is not a CA, or sidecars do not support its key type',
  OSM_CERT_CA_EXPIRED: 'a root has expired, or is not valid yet',
  OSM_CERT_CA_SHARED: 'the control plane and the workloads have the same root; separate roots are required',
  OSM_CERT_ROOTS_BOUND:
    'a bundle of roots has more certificates than sidecars can read for each connection; the previous roots stay in force',
  OSM_CERT_STORE_CORRUPT: 'the stored root is incomplete, is not PEM, or its key does not match its certificate',
  OSM_CERT_STORE_PERMISSIONS: 'the stored root is accessible to other users',
  OSM_CERT_STORE_FULL: 'no space is left to store a root',
  OSM_CERT_STORE_IO: 'the stored root cannot be read or written',
  OSM_CERT_WORKLOAD_API:
    'the SPIFFE Workload API is unavailable, or has no entry for the controller; the last roots stay in force',
  OSM_CERT_WORKLOAD_API_BUNDLE:
    'the SPIFFE Workload API returned no roots for the trust domain, or untrustworthy roots; the last roots stay in force',
  OSM_CERT_PEER_MALFORMED: 'the peer presented data that is not a certificate',
  OSM_CERT_PEER_UNTRUSTED: 'the certificate of a peer was not signed by a root of the trust bundle',
  OSM_CERT_PEER_EXPIRED: 'the certificate of a peer has expired, or is not valid yet',
  OSM_CERT_PEER_USAGE: 'the certificate of a peer is a CA, or has the wrong key usage',
  OSM_CERT_PEER_NAME:
    'the names in the certificate of a peer are not those of a proxy, a service identity or the control plane',
} as const

/** A code of {@link certificateErrorCodes}. */
export type CertificateErrorCode = keyof typeof certificateErrorCodes
