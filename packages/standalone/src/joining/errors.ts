/** Codes of errors on a machine that joins a mesh. */
export const joinErrorCodes = {
  OSM_JOIN_UNREACHABLE: 'the control plane did not respond to a machine',
  OSM_JOIN_TRUST:
    'the root of the control plane differs from that of the join token, or another server responded; the token was not sent',
  OSM_JOIN_CLOCK: 'the clocks of the machine and the control plane differ by minutes; certificates are not valid',
  OSM_JOIN_ANSWER: 'the control plane sent a response that this version of osm does not support',
  OSM_JOIN_PROOF: 'the machine has no valid certificate, and no join token was given',
  OSM_JOIN_AZURE:
    'the metadata service of Azure did not respond, or the issuer certificates of its documents cannot be fetched',
  OSM_JOIN_STATE: 'the state folder of a machine cannot be read or used',
  OSM_JOIN_RUNNING: 'the machine has already joined, and its sidecar is running',
  OSM_JOIN_TRANSPARENT: 'this machine or user cannot redirect the connections of the machine to a sidecar',
  OSM_JOIN_CLASS: 'the machine has no driver for its sidecar class, or the driver is refused',
  OSM_JOIN_MODE: 'the machine has already joined in the other mode, with or without redirection of connections',
} as const

/** A code of {@link joinErrorCodes}. */
export type JoinErrorCode = keyof typeof joinErrorCodes
