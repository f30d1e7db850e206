/** Codes of errors of transparent mode's network, with the meaning of each. */
export const netnsErrorCodes = {
  OSM_NETNS_UNSUPPORTED:
    'this machine or user cannot run transparent mode: it requires Linux, root, and the named programs',
  OSM_NETNS_INVALID: 'a name, address range or host entry for the mesh network is not valid',
  OSM_NETNS_RANGE_IN_USE: 'an address range of the mesh network overlaps with a route that this machine already has',
  OSM_NETNS_BUSY: 'another process has been setting up a mesh network on this machine for more than a minute',
  OSM_NETNS_EXHAUSTED: 'the mesh network has no free address, or this process no free network number',
  OSM_NETNS_COMMAND: 'a program that sets up or removes the network failed',
  OSM_NETNS_CLOSED: 'the mesh network is being destroyed or was destroyed',
  OSM_NETNS_LEFTOVER: 'a part of a mesh network could not be removed',
} as const

/** A code of {@link netnsErrorCodes}. */
export type NetnsErrorCode = keyof typeof netnsErrorCodes
