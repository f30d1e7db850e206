/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export {
  createMeshNetwork,
  sweepMeshNetworks,
  transparentModeObstacles,
  type HostEntry,
  type MeshNetwork,
  type SpawnCommand,
  type WorkloadNetwork,
} from '../src/netns/index.js'
export { parseOwnerMark, parseOwnerMetric } from '../src/netns/owner.js'
export { runTool } from '../src/netns/run-tool.js'
export { isReachableByOthers } from '../src/transparent/reachable.js'
export { hasSidecarsHome } from '../src/transparent/sidecar-run-directory.js'
export { AzureMetadataStandIn } from './azure-metadata-stand-in.js'
