/** Codes of errors about certificates, with the meaning of each. */
export const certificateErrorCodes = {
  OSM_CERT_REQUEST: 'a certificate was requested with a name, a lifetime or a key size that none may have',
  OSM_CERT_AMBIGUOUS_NAME:
    'the principal of a service account is also the server name of a service, so that one could pass for the other',
  OSM_CERT_TOO_MANY_NAMES: 'an identity backs more services than fit into one certificate',
  OSM_CERT_ISSUE: 'the certificate provider failed to issue a certificate',
  OSM_CERT_ISSUE_TIMEOUT: 'the certificate provider did not answer in time',
  OSM_CERT_UNKNOWN: 'a certificate was to be rotated that was never issued, or was released',
  OSM_CERT_RELEASED: 'the proxy of a certificate was released; neither its certificate nor its name is used again',
  OSM_CERT_CLOSED: 'a certificate was requested while the process was shutting down',
  OSM_CERT_NO_KEY: 'the private key of a certificate was asked for that comes without one',
  OSM_CERT_CA_INVALID: 'a root cannot sign what the mesh needs: no CA, or a kind of key that sidecars do not verify',
  OSM_CERT_CA_EXPIRED: 'a root has expired, or is not valid yet',
  OSM_CERT_CA_SHARED: 'control plane and workloads were given one root; each needs its own',
  OSM_CERT_STORE_CORRUPT: 'the stored root is incomplete, is not PEM, or its key does not belong to its certificate',
  OSM_CERT_STORE_PERMISSIONS: 'the stored root is accessible to other users',
  OSM_CERT_STORE_FULL: 'there is no space left to store a root',
  OSM_CERT_STORE_IO: 'the stored root cannot be read or written',
  OSM_CERT_PEER_MALFORMED: 'what a peer presented is not a certificate',
  OSM_CERT_PEER_UNTRUSTED: 'the certificate of a peer was not signed by a root of the trust bundle',
  OSM_CERT_PEER_EXPIRED: 'the certificate of a peer has expired, or is not valid yet',
  OSM_CERT_PEER_USAGE: 'the certificate of a peer is a CA, or is not meant for that side of a connection',
  OSM_CERT_PEER_NAME:
    'the names in the certificate of a peer are not those of a proxy, a service identity or the control plane',
} as const

/** A code of {@link certificateErrorCodes}. */
export type CertificateErrorCode = keyof typeof certificateErrorCodes
