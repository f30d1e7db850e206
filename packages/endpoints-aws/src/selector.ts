import type { CustomResource, JsonObject } from '@osm-ts/endpoints-api'
import type { RefusedSelector, Selector } from '@osm-ts/endpoints-polling'

import type { AwsSettings } from './settings.js'

/** An instance, an auto-scaling group, or instances by tag; in the VPCs that are allowed. */
export type AwsSelector = { readonly region: string; readonly vpcs: readonly string[] | undefined } & AwsTarget

type AwsTarget =
  | { readonly kind: 'instance'; readonly id: string }
  | { readonly kind: 'group'; readonly name: string }
  | { readonly kind: 'tags'; readonly tags: Readonly<Record<string, string>> }

interface ReadEntry {
  /** Undefined: the only one that is configured. */
  readonly region: string | undefined
  /** Undefined: that of the credential. */
  readonly account: string | undefined
  readonly target: AwsTarget
}

const arn = /^arn:aws(?:-[a-z]{1,10}){0,3}:(ec2|autoscaling):([-a-z0-9]{1,32}):(\d{12}):(.{1,400})$/
const instanceId = /^i-[0-9a-f]{8,17}$/

/** Reads the selectors of an AwsResource and refuses those outside of what settings allow. */
export function selectorsOf(
  { namespace, spec }: CustomResource,
  settings: AwsSettings,
): readonly (Selector<AwsSelector> | RefusedSelector)[] {
  const entries = spec.resources as readonly JsonObject[] // the schema demands it
  return entries.map((entry, index) => {
    const field = `spec.resources[${index}]`
    const read = readEntry(entry)
    if (typeof read === 'string') return { field, code: 'InvalidSelector', message: read }
    if (read.account !== undefined && read.account !== settings.account) {
      return {
        field,
        code: 'NotAllowed',
        message: `account ${read.account} is not the one configured for the provider`,
      }
    }
    const region = read.region ?? (settings.regions.length === 1 ? settings.regions[0]?.name : undefined)
    if (region === undefined) {
      return { field, code: 'InvalidSelector', message: 'region is required, because several are configured' }
    }
    const allowed = settings.regions.find(({ name }) => name === region)
    if (allowed === undefined) {
      return { field, code: 'NotAllowed', message: `region ${region} is not one of those configured for the provider` }
    }
    if (allowed.namespaces?.includes(namespace) === false) {
      const message = `objects of namespace ${namespace} may not select from region ${region}`
      return { field, code: 'NotAllowed', message }
    }
    const value = { region, vpcs: allowed.vpcs, ...read.target }
    return { field, key: keyOf(value), scope: region, value }
  })
}

function readEntry(entry: JsonObject): ReadEntry | string {
  const region = entry.region as string | undefined
  if (typeof entry.arn === 'string') return readArn(entry.arn)
  if (typeof entry.instanceId === 'string') {
    if (!instanceId.test(entry.instanceId))
      return 'instanceId is not the ID of an instance, such as i-0123456789abcdef0'
    return { region, account: undefined, target: { kind: 'instance', id: entry.instanceId } }
  }
  if (typeof entry.autoScalingGroup === 'string') {
    return { region, account: undefined, target: { kind: 'group', name: entry.autoScalingGroup } }
  }
  return { region, account: undefined, target: { kind: 'tags', tags: entry.tags as Readonly<Record<string, string>> } }
}

function readArn(text: string): ReadEntry | string {
  const [, service, region, account, resource = ''] = arn.exec(text) ?? []
  const id = /^instance\/(.+)$/.exec(resource)?.[1]
  if (service === 'ec2' && id !== undefined && instanceId.test(id)) {
    return { region, account, target: { kind: 'instance', id } }
  }
  const name = /^autoScalingGroup:[^:]*:autoScalingGroupName\/(.+)$/.exec(resource)?.[1]
  if (service === 'autoscaling' && name !== undefined) return { region, account, target: { kind: 'group', name } }
  return 'arn is not that of an instance or auto-scaling group; expected arn:aws:ec2:<region>:<account>:instance/<id> or arn:aws:autoscaling:<region>:<account>:autoScalingGroup:<uuid>:autoScalingGroupName/<name>'
}

function keyOf(value: AwsSelector): string {
  const target =
    value.kind === 'instance' ? value.id : value.kind === 'group' ? value.name : Object.entries(value.tags).sort()
  return JSON.stringify([value.kind, value.region, target])
}
