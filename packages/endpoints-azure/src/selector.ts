import type { CustomResource, JsonObject } from '@osm-ts/endpoints-api'
import type { RefusedSelector, Selector } from '@osm-ts/endpoints-polling'

import type { AllowedSubscription } from './settings.js'

/** A machine, a scale set, or machines by tag. Names are in lower case where Azure ignores case. */
export type AzureSelector =
  | {
      readonly kind: 'machine' | 'scaleSet'
      readonly subscription: string
      readonly group: string
      readonly name: string
    }
  | {
      readonly kind: 'tags'
      readonly subscription: string
      /** Undefined: all of the subscription. */
      readonly group: string | undefined
      readonly tags: Readonly<Record<string, string>>
    }

/** Identifies a resource in a resource group. */
export interface ResourceId {
  readonly subscription: string
  readonly group: string
  readonly type: string
  readonly name: string
}

// Not of dots alone: the SDK puts names into paths.
const segment = '((?!\\.+(?:/|$))[-\\p{L}\\p{N}_.()]{1,90})'
const groupName = new RegExp(`^${segment}$`, 'u')
// The first part is what early designs of service meshes put in front.
const resourceId = new RegExp(
  `^(?:/resource)?/subscriptions/([-0-9a-f]{36})/resourceGroups/${segment}/providers/${segment}/${segment}/${segment}$`,
  'iu',
)

/** Reads the ID of a resource of Azure; undefined if it is none in a resource group. */
export function parseResourceId(id: string): ResourceId | undefined {
  const [, subscription, group, provider, type, name] = resourceId.exec(id) ?? []
  if (subscription === undefined || group === undefined || name === undefined) return undefined
  return {
    subscription: subscription.toLowerCase(),
    group: group.toLowerCase(),
    type: `${provider ?? ''}/${type ?? ''}`.toLowerCase(),
    name: name.toLowerCase(),
  }
}

/** Reads the selectors of an AzureResource and refuses those outside of what settings allow. */
export function selectorsOf(
  { namespace, spec }: CustomResource,
  allowed: readonly AllowedSubscription[],
): readonly (Selector<AzureSelector> | RefusedSelector)[] {
  const entries = spec.resources as readonly JsonObject[] // the schema demands it
  return entries.map((entry, index) => {
    const field = `spec.resources[${index}]`
    const value = typeof entry.uri === 'string' ? readUri(entry.uri) : readTags(entry, allowed)
    if (typeof value === 'string') return { field, code: 'InvalidSelector', message: value }
    const refusal = refusalOf(value, namespace, allowed)
    if (refusal !== undefined) return { field, code: 'NotAllowed', message: refusal }
    return { field, key: keyOf(value), scope: value.subscription, value }
  })
}

function readUri(uri: string): AzureSelector | string {
  const id = parseResourceId(uri)
  const kinds = new Map<string | undefined, 'machine' | 'scaleSet'>([
    ['microsoft.compute/virtualmachines', 'machine'],
    ['microsoft.compute/virtualmachinescalesets', 'scaleSet'],
  ])
  const kind = kinds.get(id?.type)
  if (id === undefined || kind === undefined) {
    return 'uri is not the ID of a virtual machine or scale set; expected /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Compute/virtualMachines/<name> or …/virtualMachineScaleSets/<name>'
  }
  return { kind, subscription: id.subscription, group: id.group, name: id.name }
}

function readTags(entry: JsonObject, allowed: readonly AllowedSubscription[]): AzureSelector | string {
  const only = allowed.length === 1 ? allowed[0]?.id : undefined
  const subscription = (entry.subscription as string | undefined) ?? only
  if (subscription === undefined) return 'subscription is required, because several are configured'
  const group = entry.resourceGroup as string | undefined
  if (group !== undefined && !groupName.test(group)) return 'resourceGroup is not the name of a resource group'
  return {
    kind: 'tags',
    subscription: subscription.toLowerCase(),
    group: group?.toLowerCase(),
    tags: entry.tags as Readonly<Record<string, string>>,
  }
}

function refusalOf(
  { subscription, group }: AzureSelector,
  namespace: string,
  allowed: readonly AllowedSubscription[],
): string | undefined {
  const found = allowed.find(({ id }) => id.toLowerCase() === subscription)
  if (found === undefined) return `subscription ${subscription} is not one of those configured for the provider`
  if (found.namespaces?.includes(namespace) === false) {
    return `objects of namespace ${namespace} may not select from subscription ${subscription}`
  }
  const groups = found.resourceGroups?.map((name) => name.toLowerCase())
  if (groups === undefined) return undefined
  if (group === undefined) return `resourceGroup is required for subscription ${subscription}`
  return groups.includes(group) ? undefined : `resource group ${group} is not one of those configured for the provider`
}

function keyOf(value: AzureSelector): string {
  if (value.kind !== 'tags') return JSON.stringify([value.kind, value.subscription, value.group, value.name])
  return JSON.stringify([value.kind, value.subscription, value.group ?? null, Object.entries(value.tags).sort()])
}
