import type { VirtualMachine, VirtualMachineInstanceView } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import type { InstanceLocality } from '@osm-ts/endpoints-api'
import type { CloudInstance } from '@osm-ts/endpoints-polling'

/** The members that virtual machines and instances of scale sets have in common. */
type Machine = Pick<VirtualMachine, 'id' | 'location' | 'zones' | 'networkProfile'>
/** Statuses of a machine; those of instances of scale sets have the same form. */
type View = Pick<VirtualMachineInstanceView, 'statuses'>

/** Most addresses of an instance that the contract takes. */
const mostAddresses = 8

/** A machine as an instance: its private addresses, those of its primary network interface first. */
export function toCloudInstance(
  machine: Machine,
  view: View | undefined,
  interfaces: ReadonlyMap<string, NetworkInterface>,
): CloudInstance {
  const attached = [...(machine.networkProfile?.networkInterfaces ?? [])].sort(primaryFirst)
  const addresses = attached
    .map(({ id }) => interfaces.get(id?.toLowerCase() ?? ''))
    .flatMap((found) => [...(found?.ipConfigurations ?? [])].sort(primaryFirst))
    .flatMap(({ privateIPAddress }) => (privateIPAddress === undefined ? [] : [privateIPAddress]))
  return {
    id: machine.id?.toLowerCase() ?? '',
    addresses: [...new Set(addresses)].slice(0, mostAddresses),
    running: isRunning(view),
    locality: localityOf(machine),
  }
}

/** Interfaces by their ID in lower case. */
export function byId(interfaces: Iterable<NetworkInterface>): ReadonlyMap<string, NetworkInterface> {
  return new Map([...interfaces].map((each) => [each.id?.toLowerCase() ?? '', each]))
}

/** Whether a machine has all tags. Azure ignores case in names of tags, not in their values. */
export function hasTags(machine: Pick<VirtualMachine, 'tags'>, wanted: Readonly<Record<string, string>>): boolean {
  const tags = new Map(Object.entries(machine.tags ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
  return Object.entries(wanted).every(([name, value]) => tags.get(name.toLowerCase()) === value)
}

function isRunning(view: View | undefined): boolean {
  return view?.statuses?.some(({ code }) => code === 'PowerState/running') === true
}

function localityOf({ location, zones }: Machine): InstanceLocality {
  const [zone] = zones ?? []
  // Numbers of zones are those of a region.
  return { region: location, zone: zone === undefined ? '' : `${location}-${zone}`, subZone: '' }
}

function primaryFirst(a: { readonly primary?: boolean }, b: { readonly primary?: boolean }): number {
  return Number(b.primary === true) - Number(a.primary === true)
}
