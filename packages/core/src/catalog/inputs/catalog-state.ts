import type { EndpointsProvider } from '../../endpoints/index.js'
import type { SecretStates } from '../../secrets/index.js'
import type { Snapshot } from '../../snapshot/index.js'
import type { CatalogSettings } from './catalog-settings.js'
import type { PolicyIndexes } from './policy-indexes.js'

/** Everything that policies are computed from. */
export interface CatalogState {
  /** Objects of the namespaces that take part in the mesh. */
  readonly snapshot: Snapshot
  readonly indexes: PolicyIndexes
  /** Answers from its own data, which may be newer than the snapshot: whatever it announces is read again. */
  readonly endpoints: EndpointsProvider
  readonly settings: CatalogSettings
  /** Roots that sign service certificates, PEM, the one in use first. */
  readonly roots: readonly string[]
  /** Secrets that objects name; undefined where no one knows about them, and each is taken to be there. */
  readonly secrets: SecretStates | undefined
}
