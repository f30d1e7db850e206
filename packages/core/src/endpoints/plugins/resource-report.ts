import type { CustomResource, ResourceCondition, ResourceKind, ResourceRef } from '@osm-ts/endpoints-api'

import type { ObjectOrigin } from '../../problem.js'
import type { PluginProviderState } from './plugin-endpoints-provider.js'
import { resourceKey, type ProviderResources } from './provider-resources.js'

/** What the mesh says of an object of a provider's kind. */
export interface ResourceReport extends ResourceRef {
  readonly type: Pick<ResourceKind, 'group' | 'version' | 'plural'>
  readonly generation: number
  /** `Accepted`, `Stale`, and those of the provider. */
  readonly conditions: readonly ResourceCondition[]
  readonly instances: number
  readonly addresses: readonly string[]
  /** When all that it selects was found last, in milliseconds since 1970. */
  readonly resolvedAt?: number
  readonly origin?: ObjectOrigin
}

/** What becomes of each object of a provider. */
export function resourceReports(
  resources: ProviderResources,
  { id, state, reason = '', resources: statuses }: PluginProviderState,
): readonly ResourceReport[] {
  const told = new Map(statuses.map((status) => [resourceKey(status), status]))
  const types = new Map(resources.kinds.map((kind) => [kind.kind, kind]))
  const report = (
    { kind, namespace, name, generation }: Pick<CustomResource, 'kind' | 'namespace' | 'name' | 'generation'>,
    accepted: Omit<ResourceCondition, 'type'>,
    origin: ObjectOrigin | undefined,
  ): ResourceReport | undefined => {
    const type = types.get(kind)
    if (type === undefined) return undefined
    const status = told.get(resourceKey({ kind, namespace, name }))
    const { instances = 0, addresses = [], conditions = [], resolvedAt } = status ?? {}
    const staleness =
      state === 'failing' ? `provider ${id} fails: ${reason}` : status?.stale === true ? 'not all was found again' : ''
    const stale = {
      type: 'Stale',
      status: staleness === '' ? ('False' as const) : ('True' as const),
      reason: staleness === '' ? 'UpToDate' : state === 'failing' ? 'OSM_ENDPOINTS_PROVIDER_FAILED' : 'LastGoodKept',
      message: staleness === '' ? 'what was found is up to date' : `${staleness}; the last good answer stays in force`,
    }
    return {
      kind,
      namespace,
      name,
      generation,
      type: { group: type.group, version: type.version, plural: type.plural },
      conditions: [{ type: 'Accepted', ...accepted }, stale, ...conditions],
      instances,
      addresses,
      ...(resolvedAt !== undefined && { resolvedAt }),
      ...(origin !== undefined && { origin }),
    }
  }
  const refused = new Map(resources.refused().map((it) => [resourceKey(it.resource), it]))
  const reports = [
    ...[...refused.values()].map(({ resource, code, message }) =>
      report(resource, { status: 'False', reason: code, message }, resource.origin),
    ),
    ...resources
      .list()
      .filter((resource) => !refused.has(resourceKey(resource)))
      .map((resource) =>
        report(
          resource,
          { status: 'True', reason: 'Accepted', message: `provider ${id} uses the object` },
          resources.originOf(resource),
        ),
      ),
  ]
  return reports.flatMap((it) => it ?? [])
}
