import { join } from 'node:path'

import type { MeshConfig, Problem, Snapshot } from '@osm-ts/core'

import { FixedAddressTable, type AddressTable } from './addresses/virtual-addresses.js'
import type { PortAllocator } from './ports/port-allocator.js'
import type { StatePaths } from './state/state-folder.js'
import type { DesiredInstance } from './workload/desired-instances.js'
import { ExplicitInstancePlacement } from './workload/explicit-instance-placement.js'
import type { InstancePlacement } from './workload/instance-placement.js'

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

/**
 * Instances share the network of this machine and are told addresses.
 *
 * @param address - where sidecars and the controller are reached: loopback, or an address of this machine that other machines reach
 */
export function explicitPlacement(allocator: PortAllocator, paths: StatePaths, address: string): Placement {
  return {
    controllerAddress: address,
    addresses: new FixedAddressTable({}),
    assign: () => [],
    placeInstance: (desired, snapshot) =>
      ExplicitInstancePlacement.open(
        { desired, allocator, folder: sidecarFolder(paths.run, desired), address },
        snapshot,
      ),
    destroy: async () => undefined,
  }
}

/** The folder of one sidecar's files. */
export function sidecarFolder(run: string, { namespace, name }: DesiredInstance): string {
  // A namespace has no dots, so that no two instances share a folder.
  return join(run, `${namespace}.${name}`)
}
