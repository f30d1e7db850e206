export { standaloneErrorCodes, type StandaloneErrorCode } from './errors.js'
export { netnsErrorCodes, type NetnsErrorCode } from './netns/index.js'
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
export type { JoinEvent } from './joining/join-event.js'
export { joinMachine, type JoinMachineOptions } from './joining/join-machine.js'
export type { MachineInterception } from './joining/transparent/transparent-place.js'
export { leaveMachine } from './joining/leave-machine.js'
export { statePaths } from './state/state-folder.js'
