export { MeshSnapshot, snapshotObjects, type ObjectEdit } from './mesh-snapshot.js'
export * from './snapshot.js'
export { SnapshotBuilder, type SourcedChange } from './snapshot-builder.js'
export { SnapshotFeed } from './snapshot-feed.js'
