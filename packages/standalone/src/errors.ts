/** Codes of what can go wrong while a mesh runs on one machine, with the meaning of each. */
export const standaloneErrorCodes = {
  OSM_STANDALONE_RUNNING: 'another mesh runs with the same state folder',
  OSM_STANDALONE_STATE: 'a file of the state folder cannot be read or is invalid',
  OSM_STANDALONE_CONTROLLER: 'the controller process did not start, or ended',
  OSM_STANDALONE_CONTROLLER_CONFIG: 'the configuration of the controller process is invalid',
  OSM_STANDALONE_PORTS: 'no free port is left for listeners of sidecars and workloads',
  OSM_STANDALONE_PORT_TAKEN: 'the fixed local port of a workload is in use',
  OSM_STANDALONE_COMMAND: 'the program of a workload cannot be started',
  OSM_STANDALONE_WORKING_DIR: 'the working directory of a workload does not exist',
  OSM_STANDALONE_EXITED: 'the program of a workload exits repeatedly',
  OSM_STANDALONE_BINARY: 'the executable of a sidecar class is unknown, or cannot be run',
  OSM_STANDALONE_SIDECAR: 'the sidecar of a workload ended, or did not become ready in time',
  OSM_STANDALONE_PATCH: 'a driver requires something that a local process cannot have',
  OSM_STANDALONE_VARIABLE_CLASH: 'two services would have the same environment variable in workloads',
  OSM_STANDALONE_VARIABLE_MISSING:
    'a running workload has no environment variable for a service that was added later: environments are fixed at the start',
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
