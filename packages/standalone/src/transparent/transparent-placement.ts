import type { Snapshot } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import { AddressLedger } from '../addresses/address-ledger.js'
import type { StandaloneErrorCode } from '../errors.js'
import { meshDomains, SIDECAR_UID } from '../mesh-constants.js'
import {
  createMeshNetwork,
  findFreeRanges,
  sweepMeshNetworks,
  transparentModeObstacles,
  type MeshNetwork,
} from '../netns/index.js'
import { parseIpv4Range } from '../netns/ipv4-range.js'
import { sidecarFolder, type Placement } from '../placement.js'
import type { ProcessLedger } from '../process/process-ledger.js'
import type { StatePaths } from '../state/state-folder.js'
import type { DesiredInstance } from '../workload/desired-instances.js'
import type { Site } from '../workload/site.js'
import { makeSidecarsHome, removeSidecarsHome } from './home.js'
import { hostEntries, type NamedInstance } from './host-names.js'
import { TransparentSite, type ProgramUser } from './transparent-site.js'

const ATTEMPTS = 5

/** What transparent placement needs. */
export interface TransparentOptions {
  readonly paths: StatePaths
  readonly ledger: ProcessLedger
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
  const network = await buildNetwork(signal)
  try {
    return new TransparentPlacement(options, network, user)
  } catch (error) {
    await network.destroy()
    throw error
  }
}

class TransparentPlacement implements Placement {
  readonly controllerAddress: string
  readonly addresses: AddressLedger
  readonly #options: TransparentOptions
  readonly #network: MeshNetwork
  readonly #user: ProgramUser | undefined
  readonly #home: string
  readonly #sites = new Map<TransparentSite, NamedInstance | undefined>()
  #snapshot: Snapshot | undefined

  constructor(options: TransparentOptions, network: MeshNetwork, user: ProgramUser | undefined) {
    this.#options = options
    this.#network = network
    this.#user = user
    this.controllerAddress = network.hostAddress
    const range = parseIpv4Range(network.vipRange)
    if (range === undefined) throw new RangeError(`${network.vipRange} is no range`)
    this.addresses = new AddressLedger(options.paths.virtualAddresses, range)
    this.#home = makeSidecarsHome(options.paths.folder)
  }

  readonly assign: Placement['assign'] = (snapshot) => {
    this.#snapshot = snapshot
    return this.addresses.assign(snapshot.list('Service'))
  }

  readonly openSite: Placement['openSite'] = async (desired, snapshot, config): Promise<Site> => {
    const { ledger, interpreter, paths } = this.#options
    const site: TransparentSite = new TransparentSite({
      desired,
      snapshot,
      network: this.#network,
      config,
      folder: sidecarFolder(this.#home, desired),
      sidecarUid: SIDECAR_UID,
      user: this.#user,
      interpreter,
      ledger,
      stateFolder: paths.folder,
      hosts: () => this.#hosts(desired.namespace),
      onAddress: (address) => this.#moved(site, desired, address),
    })
    return site
  }

  readonly destroy = async (): Promise<void> => {
    removeSidecarsHome(this.#options.paths.folder)
    await this.#network.destroy()
  }

  #hosts(namespace: string): ReturnType<typeof hostEntries> {
    const services = this.#snapshot?.list('Service') ?? []
    const instances = [...this.#sites.values()].filter((instance) => instance !== undefined)
    const { clusterDomain } = meshDomains()
    return hostEntries(namespace, { services, addresses: this.addresses.current(), instances, clusterDomain })
  }

  /** Names of headless services lead to instances, so that all are told who has come or left. */
  #moved(site: TransparentSite, { namespace, name, workload }: DesiredInstance, address: string | undefined): void {
    if (address === undefined) this.#sites.delete(site)
    else this.#sites.set(site, { namespace, name, labels: workload.metadata.labels, address })
    const isHeadless = (this.#snapshot?.list('Service') ?? []).some(({ spec }) => spec.clusterIP === 'None')
    if (isHeadless) for (const other of this.#sites.keys()) other.refreshHosts()
  }
}

/** Another process may take the ranges in between. */
async function buildNetwork(signal: AbortSignal): Promise<MeshNetwork> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await createMeshNetwork(await findFreeRanges(signal), signal)
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof OsmError) || error.code !== 'OSM_NETNS_RANGE_IN_USE') throw error
    }
  }
}

/** Whoever called sudo: programs then have the rights of that person, and not those of root. */
function programUser({ SUDO_UID, SUDO_GID }: Readonly<Record<string, string | undefined>>): ProgramUser | undefined {
  const uid = Number(SUDO_UID)
  if (!Number.isInteger(uid) || uid <= 0) return undefined
  if (uid === SIDECAR_UID)
    throw transparentError(
      `user ${uid} is the one that sidecars run as: traffic of programs would pass them by; call sudo as another user`,
    )
  const gid = Number(SUDO_GID)
  return { uid, gid: Number.isInteger(gid) && gid > 0 ? gid : uid }
}

function transparentError(message: string): OsmError<StandaloneErrorCode> {
  return new OsmError('OSM_STANDALONE_TRANSPARENT', message)
}
