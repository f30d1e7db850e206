/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export type { PolicyPartStore } from '../src/catalog/store/policy-part-store.js'
export { PolicyDiffs } from '../src/catalog/store/policy-diff.js'
export { PolicyStream } from '../src/host/policy-stream.js'
export { decodeManifests, GeneratedMesh, largeMesh, readAndWrite } from './generated/generated-mesh.js'
export * as manifests from './generated/manifests.js'
export type { Manifest, Place } from './generated/manifests.js'
export {
  exampleObjects,
  faultyField,
  fullObjects,
  storedObjects,
  titled,
  type WrittenObject,
} from './spec/stored-objects.js'
