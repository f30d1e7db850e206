/** Codes of what can go wrong on a machine that joins a mesh, with the meaning of each. */
export const joinErrorCodes = {
  OSM_JOIN_UNREACHABLE: 'the control plane did not answer a machine',
  OSM_JOIN_TRUST:
    'the control plane has another root than the join token names, or another server answered; the machine did not show its token',
  OSM_JOIN_CLOCK:
    'the clock of the machine differs from that of the control plane by minutes, so that certificates are not valid',
  OSM_JOIN_ANSWER: 'the control plane sent a response that this version of osm does not support',
  OSM_JOIN_PROOF: 'the machine has no valid certificate, and no join token was given',
  OSM_JOIN_AZURE:
    'the metadata service of Azure did not answer, or the certificates of the issuers of its documents cannot be fetched',
  OSM_JOIN_STATE: 'the state folder of a machine cannot be read or used',
  OSM_JOIN_RUNNING: 'the machine has joined already, and its sidecar runs',
  OSM_JOIN_TRANSPARENT: 'this machine or user cannot redirect the connections of the machine to a sidecar',
  OSM_JOIN_CLASS: 'the machine has no driver of its sidecar class, or the driver is refused',
  OSM_JOIN_MODE: 'the machine has joined in the other mode: with, or without redirection of its connections',
} as const

/** A code of {@link joinErrorCodes}. */
export type JoinErrorCode = keyof typeof joinErrorCodes
