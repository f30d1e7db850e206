export { standaloneErrorCodes, type StandaloneErrorCode, netnsErrorCodes, type NetnsErrorCode } from './errors.js'
export { startMesh } from './start-mesh.js'
export type {
  MeshEvent,
  MeshFile,
  MeshMode,
  MeshOptions,
  ReportedRequest,
  RunningInstance,
  RunningMesh,
} from './types.js'
export { joinErrorCodes, type JoinErrorCode } from './joining/errors.js'
export type { JoinEvent } from './joining/joined-machine.js'
export { joinMachine, type JoinMachineOptions } from './joining/join-machine.js'
export type { MachineInterception } from './joining/transparent/transparent-place.js'
export { leaveMachine } from './joining/leave-machine.js'
export { statePaths } from './state/state-folder.js'
