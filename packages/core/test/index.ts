/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export type { PartStore } from '../src/catalog/store/part-store.js'
export { PolicyDiffs } from '../src/catalog/store/policy-diff.js'
export { PolicyStream } from '../src/host/policy-stream.js'
export { largeMesh } from './catalog/large-mesh.js'
export {
  exampleObjects,
  faultyField,
  fullObjects,
  storedObjects,
  titled,
  type WrittenObject,
} from './spec/stored-objects.js'
