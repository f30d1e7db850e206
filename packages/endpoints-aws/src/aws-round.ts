import { DescribeAutoScalingGroupsCommand } from '@aws-sdk/client-auto-scaling'
import {
  DescribeInstancesCommand,
  type DescribeInstancesCommandInput,
  type Filter,
  type Instance,
} from '@aws-sdk/client-ec2'
import { collectPages, ResolveFailure, type CloudInstance, type CloudRound } from '@osm-ts/endpoints-polling'

import type { AwsClients } from './clients.js'
import type { AwsSelector } from './selector.js'

/** Most values that a filter takes. */
const valuesPerFilter = 200
/** Most addresses of an instance that the contract takes. */
const mostAddresses = 8
/** States of instances that still exist. */
const existing: Filter = { Name: 'instance-state-name', Values: ['pending', 'running', 'stopping', 'stopped'] }

/** One round of requests to AWS. */
export class AwsRound implements CloudRound<AwsSelector> {
  readonly #clients: (region: string) => AwsClients

  constructor(clients: (region: string) => AwsClients) {
    this.#clients = clients
  }

  async resolve(selector: AwsSelector): Promise<readonly CloudInstance[]> {
    const { region, vpcs } = selector
    const clients = this.#clients(region)
    const filters = vpcs === undefined ? [existing] : [existing, { Name: 'vpc-id', Values: [...vpcs] }]
    if (selector.kind === 'group') return groupInstances(clients, region, selector.name, filters)
    if (selector.kind === 'instance') {
      const found = await describe(clients, { InstanceIds: [selector.id], Filters: filters })
      if (found.length === 0)
        throw new ResolveFailure('NotFound', `instance ${selector.id} was terminated or is not in an allowed VPC`)
      return found.map((instance) => toCloudInstance(instance, region, isRunning(instance)))
    }
    const tags = Object.entries(selector.tags).map(([name, value]) => ({
      Name: `tag:${name}`,
      Values: [literal(value)],
    }))
    const found = await describe(clients, { Filters: [...filters, ...tags], MaxResults: 1000 })
    return found.map((instance) => toCloudInstance(instance, region, isRunning(instance)))
  }
}

async function groupInstances(
  clients: AwsClients,
  region: string,
  name: string,
  filters: readonly Filter[],
): Promise<readonly CloudInstance[]> {
  const { AutoScalingGroups } = await clients.call('DescribeAutoScalingGroups', async (abortSignal) =>
    clients.autoScaling.send(new DescribeAutoScalingGroupsCommand({ AutoScalingGroupNames: [name] }), { abortSignal }),
  )
  const [group] = AutoScalingGroups ?? []
  if (group === undefined) throw new ResolveFailure('NotFound', `region ${region} has no auto-scaling group ${name}`)
  const members = new Map((group.Instances ?? []).map((each) => [each.InstanceId ?? '', each.LifecycleState]))
  const ids = [...members.keys()].sort()
  const found: CloudInstance[] = []
  for (let start = 0; start < ids.length; start += valuesPerFilter) {
    const some: Filter = { Name: 'instance-id', Values: ids.slice(start, start + valuesPerFilter) }
    // oxlint-disable-next-line no-await-in-loop -- other selectors are resolved meanwhile
    const instances = await describe(clients, { Filters: [...filters, some] })
    for (const instance of instances) {
      const isInService = members.get(instance.InstanceId ?? '') === 'InService'
      found.push(toCloudInstance(instance, region, isInService && isRunning(instance)))
    }
  }
  return found
}

async function describe(clients: AwsClients, input: DescribeInstancesCommandInput): Promise<readonly Instance[]> {
  return collectPages(pages(clients, input), 'instances')
}

async function* pages(clients: AwsClients, input: DescribeInstancesCommandInput): AsyncGenerator<readonly Instance[]> {
  let NextToken: string | undefined
  do {
    const page = NextToken === undefined ? input : { ...input, NextToken }
    // oxlint-disable-next-line no-await-in-loop -- a page names the next
    const answer = await clients.call('DescribeInstances', async (abortSignal) =>
      clients.ec2.send(new DescribeInstancesCommand(page), { abortSignal }),
    )
    yield (answer.Reservations ?? []).flatMap(({ Instances }) => Instances ?? [])
    NextToken = answer.NextToken
  } while (NextToken !== undefined && NextToken !== '')
}

function toCloudInstance(instance: Instance, region: string, running: boolean): CloudInstance {
  const { InstanceId = '', PrivateIpAddress, NetworkInterfaces = [], Placement } = instance
  const further = NetworkInterfaces.flatMap(({ PrivateIpAddresses }) => PrivateIpAddresses ?? []).map(
    (each) => each.PrivateIpAddress,
  )
  const addresses = [PrivateIpAddress, ...further].flatMap((address) => (address === undefined ? [] : [address]))
  return {
    id: InstanceId,
    addresses: [...new Set(addresses)].slice(0, mostAddresses),
    running,
    locality: { region, zone: Placement?.AvailabilityZone ?? '', subZone: '' },
  }
}

function isRunning({ State }: Instance): boolean {
  return State?.Name === 'running'
}

/** Values of filters may hold wildcards; those of objects do not. */
function literal(value: string): string {
  return value.replaceAll(/[*?\\]/g, String.raw`\$&`)
}
