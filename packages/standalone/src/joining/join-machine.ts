import { DriverRegistry, type JoinRequest } from '@osm-ts/core'
import { isOsmError, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { requireContract } from '@osm-ts/driver-api/host'

import { builtInDrivers } from '../builtins.js'
import { machineProcesses } from '../process/process-identity.js'
import { ProcessRegistry } from '../process/process-registry.js'
import { sweepProcesses } from '../process/sweep.js'
import { lockFolder } from '../state/folder-lock.js'
import { checkForProcess, requireBinary } from '../workload/prepare-sidecar.js'
import { inheritedEnvironment } from '../workload/variables.js'
import { ControlPlaneClient, type MachineCredential } from './control-plane-client.js'
import type { JoinErrorCode } from './errors.js'
import type { JoinEvent } from './join-event.js'
import { JoinedMachine } from './joined-machine.js'
import { machineContext } from './machine-context.js'
import { joinWithProof, type MachineProof } from './machine-proof.js'
import { MachineState, type Membership } from './machine-state.js'

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
  readonly ports: JoinRequest['ports']
  readonly listeners: JoinRequest['listeners']
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
  const { signal, stateFolder, controlPlane, environment, sidecarBinaries, onEvent } = options
  signal.throwIfAborted()
  const state = new MachineState(stateFolder)
  const unlock = await lock(state.folder)
  try {
    await sweepProcesses(state.processes, state.folder)
    state.pid = process.pid
    const client = new ControlPlaneClient(controlPlane)
    const { membership, credential, isNew } = await enter(options, state, client)
    const { name, namespace, serviceAccount } = membership
    onEvent({ type: 'joined', name: `${namespace}/${name}`, identity: `${serviceAccount}.${namespace}`, isNew })
    const { patch, binary } = await prepare(membership, credential, client.host, sidecarBinaries, signal)
    const machine = new JoinedMachine({
      membership,
      credential,
      state,
      client,
      patch,
      binary,
      processes: new ProcessRegistry(state.processes, machineProcesses),
      environment: inheritedEnvironment(environment),
      maxDrainMs: options.maxDrainMs ?? MAX_DRAIN_MS,
      onEvent,
    })
    await machine.run(signal)
  } finally {
    state.pid = undefined
    await unlock()
  }
}

/** The certificate that the machine has, or one for its token. */
async function enter(
  { proof, name, sidecarClass, address, ports, listeners, controlPlane, signal }: JoinMachineOptions,
  state: MachineState,
  client: ControlPlaneClient,
): Promise<{ readonly membership: Membership; readonly credential: MachineCredential; readonly isNew: boolean }> {
  const known = state.membership()
  const current = known && state.credential()
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
    ports,
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
  }
  const credential = { chain, key, trustBundle }
  state.saveCredential(credential)
  state.saveMembership(membership)
  return { membership, credential, isNew: true }
}

/** What the driver of the class puts beside the workload. */
async function prepare(
  membership: Membership,
  credential: MachineCredential,
  host: string,
  binaries: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly patch: SidecarPatch; readonly binary: string }> {
  const { sidecarClass } = membership.sidecar
  const registry = new DriverRegistry()
  for (const driver of builtInDrivers()) registry.register(driver)
  const driver = registry.get(sidecarClass)
  const binary = requireBinary(sidecarClass, binaries)
  const contract = requireContract(driver)
  const patch = await registry.patch(machineContext({ contract, membership, credential, host, signal }), driver.name)
  checkForProcess(patch, sidecarClass)
  return { patch, binary }
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
