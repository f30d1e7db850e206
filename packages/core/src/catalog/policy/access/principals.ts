import { createHash } from 'node:crypto'

import type { Principal } from '@osm-ts/driver-api'
import type { PrincipalsPart } from '@osm-ts/driver-api/policy'

import { defineQuery, textKey } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'
import { sortedUnique } from '../parts/keys.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'

/** Everybody of the trust domain. */
export const anyPrincipal = defineQuery<CatalogState, '', PolicyPart<PrincipalsPart>>({
  name: 'any-principal',
  keyOf: textKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context) => {
    const { trustDomain } = context.get(settingInputs.domains, '')
    return makePart({ kind: 'principals', id: 'trust-domain', match: 'trustDomain', trustDomain })
  },
})

/**
 * A list of principals. Its id is made of its content, so that all rules that let in the same callers share one part.
 *
 * @param key - sorted
 */
export const principalList = defineQuery<CatalogState, readonly Principal[], PolicyPart<PrincipalsPart>>({
  name: 'principal-list',
  keyOf: (principals) => principals.join(' '),
  equal: samePart,
  whenEqual: keepPart,
  compute: (_, principals) => {
    const digest = createHash('sha256').update(principals.join(' ')).digest('hex').slice(0, 16)
    return makePart({ kind: 'principals', id: `list/${digest}`, match: 'list', principals })
  },
})

/** The key of a list of principals. */
export function principalsKey(principals: Iterable<Principal>): readonly Principal[] {
  return sortedUnique(principals)
}
