import type { MeshPart, PartRef, TrustPart } from '@osm-ts/driver-api'

/** What every translation may depend on besides its own part. */
export interface Settings {
  readonly mesh: MeshPart
  readonly trust: TrustPart
  /** Pins both; goes into the keys of whatever is made with them. */
  readonly key: string
  /** The two parts, for tracing rejections. */
  readonly sources: readonly PartRef[]
}
