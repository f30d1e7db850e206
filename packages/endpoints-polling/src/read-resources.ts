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

/** The selectors that may be resolved, each once: the first of every namespace before the second of any, so that no tenant has another wait for all its calls. */
export function selectorsInTurn<S>(objects: readonly ReadResource<S>[]): readonly Selector<S>[] {
  const queues = new Map<string, Selector<S>[]>()
  for (const { resource, selectors } of objects) {
    const queue = queues.get(resource.namespace) ?? []
    queues.set(resource.namespace, queue)
    for (const selector of selectors) if (!isRefused(selector)) queue.push(selector)
  }
  const found = new Map<string, Selector<S>>()
  const longest = Math.max(0, ...[...queues.values()].map(({ length }) => length))
  for (let turn = 0; turn < longest; turn += 1)
    for (const { [turn]: selector } of queues.values())
      if (selector !== undefined && !found.has(selector.key)) found.set(selector.key, selector)
  return [...found.values()]
}
