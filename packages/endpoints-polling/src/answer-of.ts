import type { Instance, ProviderAnswer, ServiceInstances, ServiceName } from '@osm-ts/endpoints-api'

import { type CloudInstance, isRefused } from './cloud.js'
import type { ReadResource } from './read-resources.js'
import type { ResolveFailure } from './resolve-failure.js'
import { instanceOf, serviceOf } from './service-spec.js'

/** What is known of a selector. */
export interface Outcome {
  /** Of the last time it was resolved; undefined if it never was. */
  readonly instances: readonly CloudInstance[] | undefined
  /** Why the last attempt failed. */
  readonly failure: ResolveFailure | undefined
  /** When it was resolved last, in milliseconds since 1970; undefined if it never was. */
  readonly resolvedAt: number | undefined
  /** Calls of the last attempt. */
  readonly calls: number
}

/** What the provider announces: each service with the machines of all objects that name it. Of objects that select the same machine the first counts. */
export function answerOf<S>(
  objects: readonly ReadResource<S>[],
  outcomes: ReadonlyMap<string, Outcome>,
): ProviderAnswer {
  const services = new Map<
    string,
    { readonly service: ServiceName; readonly instances: Map<string, Instance>; stale: string | undefined }
  >()
  for (const { resource, selectors } of objects) {
    const service = serviceOf(resource)
    const key = `${service.namespace}/${service.name}`
    const entry = services.get(key) ?? { service, instances: new Map<string, Instance>(), stale: undefined }
    services.set(key, entry)
    for (const selector of selectors) {
      const outcome = isRefused(selector) ? undefined : outcomes.get(selector.key)
      if (outcome === undefined) continue
      const { failure } = outcome
      if (failure?.isUncertain === true)
        entry.stale ??= `${resource.kind} ${resource.name}: ${failure.code}: ${failure.message}`
      for (const machine of outcome.instances ?? []) {
        if (machine.addresses.length > 0 && !entry.instances.has(machine.id)) {
          entry.instances.set(machine.id, instanceOf(resource, machine))
        }
      }
    }
  }
  return { services: [...services].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => serviceInstances(entry)) }
}

function serviceInstances({
  service,
  instances,
  stale,
}: {
  readonly service: ServiceName
  readonly instances: ReadonlyMap<string, Instance>
  readonly stale: string | undefined
}): ServiceInstances {
  const sorted = [...instances.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  return { service, instances: sorted, ...(stale === undefined ? {} : { stale }) }
}
