import { join } from 'node:path'

import type { MeshConfig, Problem, Snapshot } from '@osm-ts/core'

import { AddressAllocator } from './addresses/address-allocator.js'
import { FixedAddressTable, type AddressTable } from './addresses/virtual-addresses.js'
import { parseIpv4Range } from './netns/ipv4-range.js'
import type { PortAllocator } from './ports/port-allocator.js'
import type { StatePaths } from './state/state-folder.js'
import type { DesiredInstance } from './workload/desired-instances.js'
import { ExplicitInstancePlacement } from './workload/explicit-instance-placement.js'
import type { InstancePlacement } from './workload/instance-placement.js'

const LOOPBACK = '127.0.0.1'

/** Where the instances of a mesh run: what the two modes do differently. */
export interface Placement {
  /** Address that the proxy control plane listens on. */
  readonly controllerAddress: string
  readonly addresses: AddressTable
  /** Looks at the services of the mesh, and gives addresses to those that need one. */
  readonly assign: (snapshot: Snapshot) => readonly Problem[]
  readonly placeInstance: (
    desired: DesiredInstance,
    snapshot: Snapshot,
    config: MeshConfig,
  ) => Promise<InstancePlacement>
  /** Removes what was made on the machine. Instances have left before. */
  readonly destroy: () => Promise<void>
}

/** Virtual addresses of Services for machines whose connections are redirected. Reserved, so that no program has another use for them. */
const MACHINE_ADDRESSES = '240.240.0.0/16'

/**
 * Instances share the network of this machine and are told addresses.
 *
 * @param machineAddress - an address of this machine that other machines reach, if they may join: sidecars and the controller are reached there, and
 * Services have virtual addresses, by which machines call them. Loopback and no such addresses if absent
 */
export function explicitPlacement(
  allocator: PortAllocator,
  paths: StatePaths,
  machineAddress: string | undefined,
): Placement {
  const address = machineAddress ?? LOOPBACK
  return {
    controllerAddress: address,
    ...(machineAddress === undefined ? withoutAddresses() : withAddresses(paths)),
    placeInstance: (desired, snapshot) =>
      ExplicitInstancePlacement.open(
        { desired, allocator, folder: sidecarFolder(paths.run, desired), address },
        snapshot,
      ),
    destroy: async () => undefined,
  }
}

function withoutAddresses(): Pick<Placement, 'addresses' | 'assign'> {
  return { addresses: new FixedAddressTable({}), assign: () => [] }
}

function withAddresses({ virtualAddresses }: StatePaths): Pick<Placement, 'addresses' | 'assign'> {
  const range = parseIpv4Range(MACHINE_ADDRESSES)
  if (range === undefined) throw new RangeError(`${MACHINE_ADDRESSES} is not a range`)
  const addresses = new AddressAllocator(virtualAddresses, range)
  return { addresses, assign: (snapshot) => addresses.assign(snapshot.list('Service')) }
}

/** The folder of one sidecar's files. */
export function sidecarFolder(run: string, { namespace, name }: DesiredInstance): string {
  // A namespace has no dots, so that no two instances share a folder.
  return join(run, `${namespace}.${name}`)
}
