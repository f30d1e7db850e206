/** Codes of errors of a mesh on one machine. */
export const standaloneErrorCodes = {
  OSM_STANDALONE_RUNNING: 'another mesh runs with the same state folder',
  OSM_STANDALONE_STATE: 'a file of the state folder cannot be read or is invalid',
  OSM_STANDALONE_CONTROLLER: 'the controller process did not start, or exited',
  OSM_STANDALONE_CONTROLLER_CONFIG: 'the configuration of the controller process is invalid',
  OSM_STANDALONE_PORTS: 'no free port is left for listeners of sidecars and workloads',
  OSM_STANDALONE_PORT_TAKEN: 'the fixed local port of a workload is in use',
  OSM_STANDALONE_COMMAND: 'the command of a workload cannot be started',
  OSM_STANDALONE_WORKING_DIR: 'the working directory of a workload does not exist',
  OSM_STANDALONE_EXITED: 'the command of a workload exits repeatedly',
  OSM_STANDALONE_BINARY: 'the executable of a sidecar class is unknown, or cannot be run',
  OSM_STANDALONE_SIDECAR: 'the sidecar of a workload exited, or did not become ready in time',
  OSM_STANDALONE_PATCH: 'a driver requires a feature that local processes do not support',
  OSM_STANDALONE_VARIABLE_CLASH: 'two services have the same environment variable in workloads',
  OSM_STANDALONE_VARIABLE_MISSING:
    'a running workload has no environment variable for a service that was added later; restart the workload to set it',
  OSM_STANDALONE_UNREACHABLE: 'a service selects a workload without a sidecar, which is unreachable',
  OSM_STANDALONE_VIRTUAL_ADDRESS:
    'a service has no usable virtual address: the range is exhausted, or the configured address is already used',
  OSM_STANDALONE_TRANSPARENT: 'this machine or user cannot run transparent mode',
  OSM_STANDALONE_MACHINES: 'machines cannot join a mesh in transparent mode',
  OSM_STANDALONE_NOT_READY: 'the mesh did not become ready in time',
  OSM_STANDALONE_STOPPED: 'the mesh was stopped',
} as const

/** A code of {@link standaloneErrorCodes}. */
export type StandaloneErrorCode = keyof typeof standaloneErrorCodes

/** Codes of errors of the network of transparent mode. */
export const netnsErrorCodes = {
  OSM_NETNS_UNSUPPORTED:
    'this machine or user cannot run transparent mode: it requires Linux, root, and the named programs',
  OSM_NETNS_INVALID: 'a name, address range or host entry for the mesh network is not valid',
  OSM_NETNS_RANGE_IN_USE: 'an address range of the mesh network overlaps with an existing route of this machine',
  OSM_NETNS_BUSY: 'another process has been creating a mesh network on this machine for more than a minute',
  OSM_NETNS_EXHAUSTED: 'no address of the mesh network, or no network number of this process, is free',
  OSM_NETNS_COMMAND: 'a command that creates or removes the network failed',
  OSM_NETNS_CLOSED: 'the mesh network is being destroyed or was destroyed',
  OSM_NETNS_LEFTOVER: 'a part of a mesh network could not be removed',
} as const

/** A code of {@link netnsErrorCodes}. */
export type NetnsErrorCode = keyof typeof netnsErrorCodes
