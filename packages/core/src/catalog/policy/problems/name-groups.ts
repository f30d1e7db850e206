import { defineQuery, sameItems, textKey } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameInputs, type NameInputKind } from '../../inputs/inputs.js'
import { sameName, type NamespacedName } from '../parts/keys.js'

/** So many groups at the most: of thousands of names a group holds some hundreds. */
export const NAME_GROUPS = 32

/** Some of the objects of a kind. */
export interface NameGroup {
  readonly kind: NameInputKind
  /** Less than {@link NAME_GROUPS}. */
  readonly number: number
}

export type Names = readonly NamespacedName[]

/**
 * Names by the number of their group, which is the same for the same name wherever it stands. What looks at many objects does it group by group, so that one
 * that changes has its group alone looked at again.
 */
export function byGroup(names: Names): readonly Names[] {
  const groups = Array.from({ length: NAME_GROUPS }, (): NamespacedName[] => [])
  for (const name of names) groups[groupOf(name)]?.push(name)
  return groups
}

/** `<kind>/<number>` */
export function nameGroupKey({ kind, number }: NameGroup): string {
  return `${kind}/${number}`
}

/** Names of the objects of a group. */
export const groupNames = defineQuery<CatalogState, NameGroup, Names>({
  name: 'group-names',
  keyOf: nameGroupKey,
  equal: sameNames,
  compute: (context, { kind, number }) => context.get(namesByGroup, kind)[number] ?? [],
})

const namesByGroup = defineQuery<CatalogState, NameInputKind, readonly Names[]>({
  name: 'names-by-group',
  keyOf: textKey,
  // Computed when names have changed, and compared group by group by those who read it.
  equal: () => false,
  compute: (context, kind) => byGroup(context.get(nameInputs[kind], '')),
})

export function sameNames(a: Names, b: Names): boolean {
  return sameItems(a, b, sameName)
}

/** Spread evenly enough. */
function groupOf({ namespace, name }: NamespacedName): number {
  let hash = 0
  for (const text of [namespace, name])
    for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  return (hash >>> 0) % NAME_GROUPS
}
