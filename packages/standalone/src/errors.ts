/** Codes of what can go wrong while a mesh runs on one machine, with the meaning of each. */
export const standaloneErrorCodes = {
  OSM_STANDALONE_RUNNING: 'another mesh runs with the same state folder',
  OSM_STANDALONE_STATE: 'a file of the state folder cannot be read or does not hold what it should',
  OSM_STANDALONE_CONTROLLER: 'the controller process did not start, or ended',
  OSM_STANDALONE_CONTROLLER_CONFIG: 'the controller process was given a configuration that it cannot read',
  OSM_STANDALONE_PORTS: 'no free port is left for listeners of sidecars and workloads',
  OSM_STANDALONE_PORT_TAKEN: 'the fixed local port of a workload is in use',
  OSM_STANDALONE_COMMAND: 'the program of a workload cannot be started',
  OSM_STANDALONE_WORKING_DIR: 'the working directory of a workload does not exist',
  OSM_STANDALONE_EXITED: 'the program of a workload ends again and again',
  OSM_STANDALONE_BINARY: 'no executable is known for a sidecar class, or it cannot be run',
  OSM_STANDALONE_SIDECAR: 'the sidecar of a workload ended, or did not become ready in time',
  OSM_STANDALONE_PATCH: 'a driver asks for something that a process of this machine cannot have',
  OSM_STANDALONE_VARIABLE_CLASH: 'two services would be told to workloads by one environment variable',
  OSM_STANDALONE_VARIABLE_MISSING:
    'a workload that runs already has not been told of a service that came later: environments are fixed at the start',
  OSM_STANDALONE_UNREACHABLE: 'a service selects a workload without a sidecar, which it cannot lead to',
  OSM_STANDALONE_VIRTUAL_ADDRESS:
    'a service has no usable virtual address: the range is used up, or the one written down is taken',
  OSM_STANDALONE_TRANSPARENT: 'this machine or user cannot run transparent mode',
  OSM_STANDALONE_NOT_READY: 'the mesh did not become ready in time',
  OSM_STANDALONE_STOPPED: 'the mesh was stopped',
} as const

/** A code of {@link standaloneErrorCodes}. */
export type StandaloneErrorCode = keyof typeof standaloneErrorCodes
