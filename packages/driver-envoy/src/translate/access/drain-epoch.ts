import type { JsonObject } from '@bufbuild/protobuf'

/** Under which the epoch is in a filter chain's metadata. */
const METADATA = 'openservicemesh.io'

/**
 * Metadata of a filter chain with a drain epoch. A changed chain is a new one to Envoy: connections of the old one are drained and then closed, those of
 * other chains are left alone. (Measured with Envoy 1.40, for TCP, for upgraded streams, and for removed chains and listeners.)
 */
export function drainMetadata(epoch: string | undefined): {
  readonly metadata?: { readonly filterMetadata: { readonly [name: string]: JsonObject } }
} {
  return epoch === undefined ? {} : { metadata: { filterMetadata: { [METADATA]: { withdrawal: epoch } } } }
}
