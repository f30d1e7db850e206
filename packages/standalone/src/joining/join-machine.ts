import type { JoinRequest } from '@osm-ts/core'
import { isOsmError, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { requireContract } from '@osm-ts/driver-api/host'
import type { DriverEntry } from '@osm-ts/driver-process'

import { machineProcesses } from '../process/process-identity.js'
import { ProcessRegistry } from '../process/process-registry.js'
import { sweepProcesses } from '../process/sweep.js'
import { lockFolder } from '../process/socket-lock.js'
import { checkForProcess, requireBinary } from '../workload/prepare-sidecar.js'
import { inheritedEnvironment } from '../workload/variables.js'
import { ControlPlaneClient, type MachineCredential } from './control-plane-client.js'
import type { JoinErrorCode } from './errors.js'
import { JoinedMachine, type JoinEvent } from './joined-machine.js'
import { machineContext } from './machine-context.js'
import { MachineDrivers } from './machine-drivers.js'
import { joinWithProof, type MachineProof } from './machine-proof.js'
import { explicitPlace, type MachinePlace } from './machine-place.js'
import { MachineState, type Membership } from './machine-state.js'
import { sweepTraces } from './transparent/machine-traces.js'
import { type MachineInterception, TransparentPlace } from './transparent/transparent-place.js'

/** How a machine joins. */
export interface JoinMachineOptions {
  /** Of the control plane, `https://host:port`. */
  readonly controlPlane: URL
  /** Needed for the first time only. */
  readonly proof?: MachineProof
  /** State folder; made if it is missing. */
  readonly stateFolder: string
  readonly name: string
  readonly sidecarClass?: string
  readonly address?: string
  readonly network?: JoinRequest['network']
  readonly ports: JoinRequest['ports']
  readonly listeners: JoinRequest['listeners']
  /** Present: connections of the machine are redirected to its sidecar, which takes root. */
  readonly transparent?: MachineInterception
  /** Drivers beside those that are built in; none if absent. */
  readonly driverPackages?: readonly DriverEntry[]
  /** Folder of the program, beside which that of drivers lies. */
  readonly programFolder: string
  /** Executables by sidecar class. */
  readonly sidecarBinaries: Readonly<Record<string, string>>
  readonly maxDrainMs?: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly onEvent: (event: JoinEvent) => void
  /** Ends the sidecar in order. The machine stays a member, and is one again with the next start. */
  readonly signal: AbortSignal
}

/** Most milliseconds for which the sidecar of a machine drains. */
const MAX_DRAIN_MS = 10_000

/**
 * Joins the mesh and keeps the sidecar of this machine running until the signal aborts.
 *
 * @throws OsmError with a code of `OSM_JOIN_*` or `OSM_MACHINE_*`, or of the driver
 */
export async function joinMachine(options: JoinMachineOptions): Promise<void> {
  const { signal, stateFolder, transparent } = options
  signal.throwIfAborted()
  const state = new MachineState(stateFolder)
  const unlock = await lock(state.folder)
  try {
    await sweepProcesses(state.processes, state.folder)
    state.pid = process.pid
    if (transparent === undefined) await sweepTraces(state)
    const place =
      transparent === undefined ? explicitPlace(state) : await TransparentPlace.open(state, transparent, signal)
    try {
      await runMachine(options, state, place)
    } finally {
      await place.leave()
    }
  } finally {
    state.pid = undefined
    await unlock()
  }
}

async function runMachine(options: JoinMachineOptions, state: MachineState, place: MachinePlace): Promise<void> {
  const { signal, controlPlane, environment, onEvent } = options
  const client = new ControlPlaneClient(controlPlane)
  const { membership, credential, patch, binary } = await prepare(options, { state, client, place })
  await place.enter(patch, membership, signal)
  const machine = new JoinedMachine({
    membership,
    credential,
    state,
    place,
    client,
    patch,
    binary,
    processes: new ProcessRegistry(state.processes, machineProcesses),
    environment: inheritedEnvironment(environment),
    maxDrainMs: options.maxDrainMs ?? MAX_DRAIN_MS,
    onEvent,
  })
  await machine.run(signal)
}

interface Preparation {
  readonly state: MachineState
  readonly client: ControlPlaneClient
  readonly place: MachinePlace
}

/** Joins, and asks the driver of the class what it puts beside the workload. */
async function prepare(
  options: JoinMachineOptions,
  { state, client, place }: Preparation,
): Promise<Membered & { readonly patch: SidecarPatch; readonly binary: string }> {
  const { driverPackages: entries = [], programFolder, environment, sidecarClass, sidecarBinaries, signal } = options
  const drivers = await MachineDrivers.load({ entries, programFolder, environment, log: state.driversLog }, signal)
  try {
    // Nothing of a token is used up by a class that cannot run here.
    if (sidecarClass !== undefined) drivers.get(sidecarClass)
    const { membership, credential, isNew } = await enter(options, state, client)
    const { name, namespace, serviceAccount, sidecar } = membership
    options.onEvent({ type: 'joined', name: `${namespace}/${name}`, identity: `${serviceAccount}.${namespace}`, isNew })
    const driver = drivers.get(sidecar.sidecarClass)
    const binary = requireBinary(sidecar.sidecarClass, sidecarBinaries)
    const contract = requireContract(driver)
    const reach = place.reach(membership)
    const context = machineContext({ contract, membership, credential, host: client.host, reach, signal })
    const patch = await drivers.patch(context, driver)
    checkForProcess(patch, sidecar.sidecarClass)
    return { membership, credential, patch, binary }
  } finally {
    await drivers.close()
  }
}

interface Membered {
  readonly membership: Membership
  readonly credential: MachineCredential
}

/** The certificate that the machine has, or one for its token. */
async function enter(
  {
    proof,
    name,
    sidecarClass,
    address,
    network,
    ports,
    listeners,
    transparent,
    controlPlane,
    signal,
  }: JoinMachineOptions,
  state: MachineState,
  client: ControlPlaneClient,
): Promise<Membered & { readonly isNew: boolean }> {
  const known = state.membership()
  const current = known && state.credential()
  const mode = transparent === undefined ? undefined : ('transparent' as const)
  if (known !== undefined && current !== undefined && known.mode !== mode)
    throw failure(
      'OSM_JOIN_MODE',
      `the machine has joined ${mode === undefined ? 'with' : 'without'} --transparent; start it so again, or leave and join with another token`,
    )
  if (known !== undefined && current !== undefined) return { membership: known, credential: current, isNew: false }
  if (proof === undefined)
    throw failure(
      'OSM_JOIN_PROOF',
      known === undefined
        ? 'the machine joins for the first time and needs a join token; make one with osm machine token'
        : 'the certificate of the machine has expired; make a join token with osm machine token, and join again',
    )
  const { key, csr } = await state.firstKey()
  const request = {
    csr,
    name,
    ...(sidecarClass !== undefined && { sidecarClass }),
    ...(address !== undefined && { address }),
    ...(network !== undefined && { network }),
    ports,
    ...(mode !== undefined && { mode }),
    listeners,
  }
  const answer = await joinWithProof(client, { proof, request, key }, signal)
  const { chain, trustBundle, ...place } = answer
  const membership: Membership = {
    ...place,
    controlPlane: controlPlane.href,
    name,
    ports: ports.map(({ port, localPort = port }) => ({ port, localPort })),
    listeners,
    ...(mode !== undefined && { mode }),
  }
  const credential = { chain, key, trustBundle }
  state.saveCredential(credential)
  state.saveMembership(membership)
  return { membership, credential, isNew: true }
}

async function lock(folder: string): Promise<() => Promise<void>> {
  try {
    return await lockFolder(folder)
  } catch (error) {
    if (!isOsmError(error) || error.code !== 'OSM_STANDALONE_RUNNING') throw error
    throw failure(
      'OSM_JOIN_RUNNING',
      `another osm machine join runs with the state folder ${folder}; stop it first`,
      error,
    )
  }
}

function failure(code: JoinErrorCode, message: string, cause?: unknown): OsmError<JoinErrorCode> {
  return new OsmError(code, message, { cause })
}
