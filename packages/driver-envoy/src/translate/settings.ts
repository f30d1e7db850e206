import type { MeshPart, PartRef, TrustPart } from '@osm-ts/driver-api'

/** The settings of the mesh, with what of them only some identities have. */
export interface MeshSettings extends MeshPart {
  /** What spans say that they come from, for providers that do not take it from the bootstrap. */
  readonly serviceName?: string
}

/** What every translation may depend on besides its own part. */
export interface Settings {
  readonly mesh: MeshSettings
  readonly trust: TrustPart
  /** Pins both; goes into the keys of whatever is made with them. */
  readonly key: string
  /** The two parts, for tracing rejections. */
  readonly sources: readonly PartRef[]
}
