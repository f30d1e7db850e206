export { netnsErrorCodes, type NetnsErrorCode } from './errors.js'
export type { HostEntry } from './etc-folder.js'
export { findFreeRanges } from './free-ranges.js'
export { createMeshNetwork, MeshNetwork, type MeshNetworkRanges } from './mesh-network.js'
export { transparentModeObstacles } from './obstacles.js'
export { sweepMeshNetworks } from './sweep.js'
export {
  WorkloadNetwork,
  type CommandOptions,
  type SpawnCommand,
  type WorkloadNetworkOptions,
} from './workload-network.js'
