import type { Snapshot } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import { AddressAllocator } from '../addresses/address-allocator.js'
import type { StandaloneErrorCode } from '../errors.js'
import { meshDomains, SIDECAR_UID } from '../mesh-constants.js'
import { createMeshNetwork, type MeshNetwork } from '../netns/mesh-network.js'
import { transparentModeObstacles } from '../netns/obstacles.js'
import { sweepMeshNetworks } from '../netns/traces.js'
import { parseIpv4Range } from '../netns/ipv4-range.js'
import { sidecarFolder, type Placement } from '../placement.js'
import type { ProcessRegistry } from '../process/process-registry.js'
import type { StatePaths } from '../state/state-folder.js'
import type { DesiredInstance } from '../workload/desired-instances.js'
import type { InstancePlacement } from '../workload/instance-placement.js'
import { createSidecarRunDirectory, removeSidecarRunDirectory } from './sidecar-run-directory.js'
import { hostEntries, type NamedInstance } from './host-names.js'
import { TransparentInstancePlacement, type ProgramUser } from './transparent-instance-placement.js'

/** What transparent placement needs. */
export interface TransparentOptions {
  readonly paths: StatePaths
  readonly processes: ProcessRegistry
  readonly interpreter: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * Instances get a network namespace each; services get virtual addresses and names.
 *
 * @throws OsmError OSM_STANDALONE_TRANSPARENT, or with a code of the network
 */
export async function transparentPlacement(options: TransparentOptions, signal: AbortSignal): Promise<Placement> {
  const obstacles = await transparentModeObstacles(signal)
  if (obstacles.length > 0) throw transparentError(`transparent mode can't run here: ${obstacles.join('; ')}`)
  const user = programUser(options.environment)
  await sweepMeshNetworks()
  const network = await createMeshNetwork('free', signal)
  try {
    return new TransparentPlacement(options, network, user)
  } catch (error) {
    await network.destroy()
    throw error
  }
}

class TransparentPlacement implements Placement {
  readonly controllerAddress: string
  readonly addresses: AddressAllocator
  readonly #options: TransparentOptions
  readonly #network: MeshNetwork
  readonly #user: ProgramUser | undefined
  readonly #home: string
  readonly #placements = new Map<TransparentInstancePlacement, NamedInstance | undefined>()
  #snapshot: Snapshot | undefined

  constructor(options: TransparentOptions, network: MeshNetwork, user: ProgramUser | undefined) {
    this.#options = options
    this.#network = network
    this.#user = user
    this.controllerAddress = network.hostAddress
    const range = parseIpv4Range(network.vipRange)
    if (range === undefined) throw new RangeError(`${network.vipRange} is not a range`)
    this.addresses = new AddressAllocator(options.paths.virtualAddresses, range)
    this.#home = createSidecarRunDirectory(options.paths.folder)
  }

  readonly assign: Placement['assign'] = (snapshot) => {
    this.#snapshot = snapshot
    return this.addresses.assign(snapshot.list('Service'))
  }

  readonly placeInstance: Placement['placeInstance'] = async (
    desired,
    snapshot,
    config,
  ): Promise<InstancePlacement> => {
    const { processes, interpreter, paths } = this.#options
    const placement: TransparentInstancePlacement = new TransparentInstancePlacement({
      desired,
      snapshot,
      network: this.#network,
      config,
      folder: sidecarFolder(this.#home, desired),
      sidecarUid: SIDECAR_UID,
      user: this.#user,
      interpreter,
      processes,
      stateFolder: paths.folder,
      hosts: () => this.#hosts(desired.namespace),
      onAddress: (address) => this.#moved(placement, desired, address),
    })
    return placement
  }

  readonly destroy = async (): Promise<void> => {
    removeSidecarRunDirectory(this.#options.paths.folder)
    await this.#network.destroy()
  }

  #hosts(namespace: string): ReturnType<typeof hostEntries> {
    const services = this.#snapshot?.list('Service') ?? []
    const instances = [...this.#placements.values()].filter((instance) => instance !== undefined)
    const { clusterDomain } = meshDomains()
    return hostEntries(namespace, { services, addresses: this.addresses.current(), instances, clusterDomain })
  }

  /** Names of headless services lead to instances, so that all are told who has come or left. */
  #moved(
    placement: TransparentInstancePlacement,
    { namespace, name, workload }: DesiredInstance,
    address: string | undefined,
  ): void {
    if (address === undefined) this.#placements.delete(placement)
    else this.#placements.set(placement, { namespace, name, labels: workload.metadata.labels, address })
    const isHeadless = (this.#snapshot?.list('Service') ?? []).some(({ spec }) => spec.clusterIP === 'None')
    if (isHeadless) for (const other of this.#placements.keys()) other.refreshHosts()
  }
}

/** Anyone who called sudo: programs then have the rights of that person, and not those of root. */
function programUser({ SUDO_UID, SUDO_GID }: Readonly<Record<string, string | undefined>>): ProgramUser | undefined {
  const uid = Number(SUDO_UID)
  if (!Number.isInteger(uid) || uid <= 0) return undefined
  if (uid === SIDECAR_UID)
    throw transparentError(
      `user ${uid} is the one that sidecars run as: traffic of programs would bypass them; call sudo as another user`,
    )
  const gid = Number(SUDO_GID)
  return { uid, gid: Number.isInteger(gid) && gid > 0 ? gid : uid }
}

function transparentError(message: string): OsmError<StandaloneErrorCode> {
  return new OsmError('OSM_STANDALONE_TRANSPARENT', message)
}
