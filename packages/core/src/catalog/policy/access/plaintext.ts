import { defineQuery, textKey } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'

/** True if the list names a namespace; `*` stands for all. */
function namesNamespace(list: readonly string[], namespace: string): boolean {
  return list.includes(namespace) || list.includes('*')
}

/**
 * True if workloads of a namespace without a sidecar are spoken to in plaintext, and callers without one are let in there: the configuration says so, and
 * permissive mode is on.
 */
export const allowsPlaintext = defineQuery<CatalogState, string, boolean>({
  name: 'allows-plaintext',
  keyOf: textKey,
  equal: Object.is,
  compute: (context, namespace) =>
    context.get(settingInputs.permissive, '') &&
    namesNamespace(context.get(settingInputs.plaintextNamespaces, ''), namespace),
})
