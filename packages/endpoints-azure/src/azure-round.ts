import type { VirtualMachine, VirtualMachineInstanceView } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import { collectPages, ResolveFailure, type CloudInstance, type CloudRound } from '@osm-ts/endpoints-polling'

import type { AzureClients } from './clients.js'
import { toResolveFailure } from './failures.js'
import { byId, hasTags, toCloudInstance } from './machines.js'
import { parseResourceId, type AzureSelector } from './selector.js'

type Machine = Exclude<AzureSelector, { readonly kind: 'tags' }>
type Tags = Extract<AzureSelector, { readonly kind: 'tags' }>
type Views = ReadonlyMap<string, VirtualMachineInstanceView | undefined>

/** One round of requests to Resource Manager. Lists that several selectors need are requested once. */
export class AzureRound implements CloudRound<AzureSelector> {
  readonly #clients: (subscription: string) => AzureClients
  readonly #lists = new Map<string, Promise<unknown>>()

  constructor(clients: (subscription: string) => AzureClients) {
    this.#clients = clients
  }

  async resolve(selector: AzureSelector): Promise<readonly CloudInstance[]> {
    if (selector.kind === 'tags') return this.#byTags(selector)
    return selector.kind === 'machine' ? this.#machine(selector) : this.#scaleSet(selector)
  }

  async #machine({ subscription, group, name }: Machine): Promise<readonly CloudInstance[]> {
    const { compute, network } = this.#clients(subscription)
    const machine = await attempt('virtualMachines/get', async () =>
      compute.virtualMachines.get(group, name, { expand: 'instanceView' }),
    )
    const ids = (machine.networkProfile?.networkInterfaces ?? []).map(({ id }) => parseResourceId(id ?? ''))
    const interfaces: NetworkInterface[] = []
    for (const id of ids) {
      // A machine's interfaces are in its own subscription; nothing else is worth a call.
      if (id?.subscription !== subscription) continue
      // oxlint-disable-next-line no-await-in-loop -- a machine has one or two
      const found = await unlessMissing(
        attempt('networkInterfaces/get', async () => network.networkInterfaces.get(id.group, id.name)),
      )
      if (found !== undefined) interfaces.push(found)
    }
    return [toCloudInstance(machine, machine.instanceView, byId(interfaces))]
  }

  async #scaleSet({ subscription, group, name }: Machine): Promise<readonly CloudInstance[]> {
    const { compute, network } = this.#clients(subscription)
    const set = await attempt('virtualMachineScaleSets/get', async () =>
      compute.virtualMachineScaleSets.get(group, name),
    )
    if (set.orchestrationMode === 'Flexible') return this.#flexibleScaleSet({ subscription, group }, set.id ?? '')
    const machines = await list('virtualMachineScaleSets/virtualMachines/list', () =>
      compute.virtualMachineScaleSetVMs.list(group, name, { expand: 'instanceView' }).byPage(),
    )
    const interfaces = await list('virtualMachineScaleSets/networkInterfaces/list', () =>
      network.networkInterfaces.listVirtualMachineScaleSetNetworkInterfaces(group, name).byPage(),
    )
    const found = byId(interfaces)
    return machines.map((machine) => toCloudInstance(machine, machine.instanceView, found))
  }

  /** The instances of such a set are virtual machines like others. */
  async #flexibleScaleSet(
    { subscription, group }: { readonly subscription: string; readonly group: string },
    id: string,
  ): Promise<readonly CloudInstance[]> {
    const { compute } = this.#clients(subscription)
    const machines = await list('virtualMachines/list', () =>
      compute.virtualMachines
        .list(group, { filter: `'virtualMachineScaleSet/id' eq '${id}'`, expand: 'instanceView' })
        .byPage(),
    )
    const own = machines.filter(({ virtualMachineScaleSet }) => isSameId(virtualMachineScaleSet?.id, id))
    const interfaces = await this.#interfaces(subscription, group)
    return own.map((machine) => toCloudInstance(machine, machine.instanceView, interfaces))
  }

  async #byTags({ subscription, group, tags }: Tags): Promise<readonly CloudInstance[]> {
    const machines = (await this.#machines(subscription, group)).filter((machine) => hasTags(machine, tags))
    if (machines.length === 0) return []
    const views = group === undefined ? await this.#views(subscription) : await this.#viewsOf(subscription, machines)
    const interfaces = await this.#interfaces(subscription, group)
    return machines.map((machine) => toCloudInstance(machine, views.get(machine.id?.toLowerCase() ?? ''), interfaces))
  }

  async #machines(subscription: string, group: string | undefined): Promise<readonly VirtualMachine[]> {
    const { virtualMachines } = this.#clients(subscription).compute
    return this.#once(`machines ${subscription} ${group ?? ''}`, async () =>
      list('virtualMachines/list', () =>
        (group === undefined ? virtualMachines.listAll() : virtualMachines.list(group)).byPage(),
      ),
    )
  }

  /** States of all machines of a subscription, by page. */
  async #views(subscription: string): Promise<Views> {
    const { virtualMachines } = this.#clients(subscription).compute
    return this.#once(`views ${subscription}`, async () => {
      const machines = await list('virtualMachines/list', () =>
        virtualMachines.listAll({ statusOnly: 'true' }).byPage(),
      )
      return new Map(machines.map(({ id, instanceView }) => [id?.toLowerCase() ?? '', instanceView]))
    })
  }

  /** States of some machines, a call each: Azure gives them by page for whole subscriptions only, which an identity may not read. */
  async #viewsOf(subscription: string, machines: readonly VirtualMachine[]): Promise<Views> {
    const { virtualMachines } = this.#clients(subscription).compute
    const views = new Map<string, VirtualMachineInstanceView | undefined>()
    for (const { id = '' } of machines) {
      const parsed = parseResourceId(id)
      if (parsed === undefined) continue
      // oxlint-disable-next-line no-await-in-loop -- other selectors are resolved meanwhile
      const view = await this.#once(`view ${id.toLowerCase()}`, async () =>
        unlessMissing(
          attempt('virtualMachines/instanceView', async () => virtualMachines.instanceView(parsed.group, parsed.name)),
        ),
      )
      views.set(id.toLowerCase(), view)
    }
    return views
  }

  async #interfaces(subscription: string, group: string | undefined): Promise<ReadonlyMap<string, NetworkInterface>> {
    const { networkInterfaces } = this.#clients(subscription).network
    return this.#once(`interfaces ${subscription} ${group ?? ''}`, async () => {
      const pages = (): AsyncIterable<readonly NetworkInterface[]> =>
        (group === undefined ? networkInterfaces.listAll() : networkInterfaces.list(group)).byPage()
      return byId(await list('networkInterfaces/list', pages))
    })
  }

  async #once<T>(key: string, request: () => Promise<T>): Promise<T> {
    const running = this.#lists.get(key) as Promise<T> | undefined // a key has one type
    if (running !== undefined) return running
    const started = request()
    this.#lists.set(key, started)
    return started
  }
}

async function list<T>(operation: string, pages: () => AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  return attempt(operation, async () => collectPages(pages(), operation))
}

async function attempt<T>(operation: string, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    throw toResolveFailure(error, operation)
  }
}

/** Undefined for what is part of a machine and was deleted a moment ago: that says nothing about other machines. */
async function unlessMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof ResolveFailure && error.code === 'NotFound') return undefined
    throw error
  }
}

function isSameId(a: string | undefined, b: string): boolean {
  return a?.toLowerCase() === b.toLowerCase()
}
