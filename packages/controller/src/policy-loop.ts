import {
  type CatalogUpdate,
  type CertificateManager,
  type EndpointsProvider,
  type MeshConfigurator,
  type MeshDomains,
  PolicyComputation,
  type PolicyPart,
  type PolicyProvider,
  type Problem,
  type SnapshotFeed,
} from '@osm-ts/core'
import type { ProxyPart, ProxyUUID } from '@osm-ts/driver-api'

/** What {@link PolicyLoop} follows. */
export interface PolicyLoopOptions {
  readonly meshName: string
  readonly domains: MeshDomains
  readonly endpoints: EndpointsProvider
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  readonly certificates: CertificateManager
  readonly signal: AbortSignal
}
