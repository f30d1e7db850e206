import {
  isMeshWide,
  isPermitted,
  refusedReference,
  type CrossNamespaceKind,
  type CrossReference,
} from '../../../spec/index.js'
import { defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { grantsInNamespace, settingInputs } from '../../inputs/inputs.js'
import { compareNames, nameKey, type NamespacedName } from '../parts/keys.js'
import type { ProblemList } from '../problems/problems.js'

type Context = QueryContext<CatalogState>

/**
 * True if a reference counts. An object may change what its own namespace gets; another namespace has to permit it by a ReferenceGrant; objects of the
 * control plane's namespace may concern all.
 */
const permitted = defineQuery<CatalogState, CrossReference, boolean>({
  name: 'permitted',
  keyOf: ({ from, to }) => `${from.kind} ${from.namespace}>${to.kind} ${nameKey(to)}`,
  equal: (a, b) => a === b,
  compute: (context, reference) =>
    isPermitted(reference, {
      osmNamespace: context.get(settingInputs.osmNamespace, ''),
      crossNamespace: context.get(settingInputs.crossNamespace, ''),
      grantsIn: (namespace, kind) => context.get(grantsInNamespace[kind], namespace),
    }),
})

/** True if what an object of a kind says counts for an object of another namespace. */
export function mayConcern(context: Context, { from, to }: CrossReference): boolean {
  return from.namespace === to.namespace || context.get(permitted, { from, to })
}

/** True if what an object of a kind and namespace says counts in the whole mesh. */
export function concernsAll(context: Context, kind: CrossNamespaceKind, namespace: string): boolean {
  return isMeshWide(
    { kind, namespace },
    {
      osmNamespace: context.get(settingInputs.osmNamespace, ''),
      crossNamespace: context.get(settingInputs.crossNamespace, ''),
    },
  )
}

/** Says that a reference does not count, and what would let it. */
export function reportRefused(problems: ProblemList, field: string, reference: CrossReference, effect: string): void {
  problems.error('OSM_SPEC_REF_NOT_PERMITTED', field, refusedReference(reference, effect))
}

/** Objects that compete about something of a namespace, the one that holds first: those of the namespace, of the control plane, then by name. */
export function inPrecedence<T extends NamespacedName>(
  context: Context,
  namespace: string,
  names: readonly T[],
): readonly T[] {
  if (names.length < 2) return names
  const osmNamespace = context.get(settingInputs.osmNamespace, '')
  const rank = (name: T): number => (name.namespace === namespace ? 0 : name.namespace === osmNamespace ? 1 : 2)
  return names.toSorted((a, b) => rank(a) - rank(b) || compareNames(a, b))
}
