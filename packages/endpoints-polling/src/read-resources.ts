import type { CustomResource } from '@osm-ts/endpoints-api'

import { isRefused, type RefusedSelector, type Selector } from './cloud.js'

/** Most selectors of a namespace, so that one tenant cannot use up the calls of all. */
export const selectorsPerNamespace = 100

/** An object with what its selectors are. */
export interface ReadResource<S> {
  readonly resource: CustomResource
  readonly selectors: readonly (Selector<S> | RefusedSelector)[]
}

/** Refuses the selectors of a namespace beyond the first {@link selectorsPerNamespace}, in the order of the objects. */
export function limitSelectors<S>(objects: readonly ReadResource<S>[]): readonly ReadResource<S>[] {
  const counts = new Map<string, number>()
  return objects.map(({ resource, selectors }) => ({
    resource,
    selectors: selectors.map((selector): Selector<S> | RefusedSelector => {
      if (isRefused(selector)) return selector
      const count = (counts.get(resource.namespace) ?? 0) + 1
      counts.set(resource.namespace, count)
      if (count <= selectorsPerNamespace) return selector
      const message = `namespace ${resource.namespace} has more than ${selectorsPerNamespace} selectors; select machines by tag instead`
      return { field: selector.field, code: 'TooManySelectors', message }
    }),
  }))
}
