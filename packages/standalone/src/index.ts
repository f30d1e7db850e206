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
