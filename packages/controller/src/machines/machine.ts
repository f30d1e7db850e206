import {
  type AdmittedVirtualMachine,
  type JoinRequest,
  type KindMap,
  type MachineClaims,
  type MachineErrorCode,
  type MachineGrant,
  type MachineListeners,
  type MachineReport,
  type ProcessLogger,
  REPORT_OVERDUE_MS,
} from '@osm-ts/core'
import { OsmError, type ProxyUUID } from '@osm-ts/driver-api'

/** Machines that a mesh admits. */
export const MAX_MACHINES = 1_000

/** A machine that takes part in the mesh. */
export interface Machine extends MachineGrant {
  readonly uuid: ProxyUUID
  readonly name: string
  readonly sidecarClass: string
  readonly address: string
  readonly ports: JoinRequest['ports']
  readonly listeners: JoinRequest['listeners']
  /** Present: the kernel redirects connections of the machine to its sidecar. */
  readonly mode?: 'transparent'
  /** Present if it is not in the network of the mesh. */
  readonly network?: NonNullable<JoinRequest['network']>
  /** Present if it has proven itself by a document of its cloud. */
  readonly virtualMachine?: AdmittedVirtualMachine
}

/** A machine as it is written down. */
export interface StoredMachine extends Machine {
  readonly ready: boolean
  /** The process that reported last. */
  readonly run?: string
  /** RFC 3339. */
  readonly createdAt: string
  /** Ports of its listeners, by purpose. */
  readonly claims: MachineClaims
}

/** The machines of a mesh, wherever they are written down. All replicas of a controller see the same ones. */
export interface Machines {
  find(uuid: ProxyUUID): Promise<Machine | undefined>
  /** The machine that a virtual machine takes part as. */
  ofVirtualMachine(id: string): Promise<StoredMachine | undefined>
  /** Machines of a namespace. */
  countOf(namespace: string): number
  /**
   * Adds a machine, or replaces what is known of one with the same uuid. It gets no traffic before it {@link report}s that it is ready.
   *
   * @param replaces - a machine that is removed with it
   * @throws OsmError with code `OSM_MACHINE_NAME`, `OSM_MACHINE_ACCOUNT` or `OSM_MACHINE_LIMIT`
   */
  admit(machine: Machine, replaces?: ProxyUUID): Promise<void>
  /**
   * Notes that a machine is alive, and whether it is ready.
   *
   * @throws OsmError with code `OSM_MACHINE_UNKNOWN`, or `OSM_MACHINE_TWICE` while another process shows the same certificate
   * @returns how its workload is told to reach others, by environment variable
   */
  report(uuid: ProxyUUID, report: MachineReport): Promise<Readonly<Record<string, string>>>
  remove(uuid: ProxyUUID): Promise<void>
  /** Follows the mesh, and takes machines out of service that do not report, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** What the mesh knows a machine by. */
export function instanceSpecOf(
  { uuid, name, serviceAccount, sidecarClass, address, ports, mode, ready, createdAt, network }: StoredMachine,
  { allocations }: MachineListeners,
): KindMap['WorkloadInstance']['spec'] {
  return {
    uuid,
    workload: name,
    serviceAccountName: serviceAccount,
    sidecarClass,
    mode: mode ?? 'explicit',
    addresses: [address],
    ports: ports.map((port) => ({ localPort: port.port, ...port })),
    ...(allocations !== undefined && { allocations }),
    ready,
    createdAt,
    isMachine: true,
    ...(network !== undefined && { network }),
  }
}

/** Reasons for which machines are refused, wherever they are written down. */
export const machineRefusals = {
  /** @param hint - what makes the account one of the mesh */
  account: ({ namespace, serviceAccount }: Pick<Machine, 'namespace' | 'serviceAccount'>, hint: string) =>
    refusal('OSM_MACHINE_ACCOUNT', `the mesh has no ServiceAccount ${namespace}/${serviceAccount}; ${hint}`),
  /** @param why - what is wrong with the annotation by which an account permits machines */
  notPermitted: (
    { namespace, serviceAccount }: Pick<Machine, 'namespace' | 'serviceAccount'>,
    annotation: string,
    why: string,
  ) =>
    refusal(
      'OSM_MACHINE_ACCOUNT',
      `ServiceAccount ${namespace}/${serviceAccount} permits no machines by its annotation ${annotation}: ${why}`,
    ),
  name: ({ namespace, name }: Machine) =>
    refusal('OSM_MACHINE_NAME', `name: ${namespace}/${name} takes part already; choose another name`),
  limit: () => refusal('OSM_MACHINE_LIMIT', `the mesh has ${MAX_MACHINES} machines, which is the limit`),
  limitOf: (namespace: string, limit: number) =>
    refusal(
      'OSM_MACHINE_LIMIT',
      `namespace ${namespace} has ${limit} machines, beyond which its service accounts admit no more; join others by tokens of osm machine token`,
    ),
  twice: ({ namespace, name }: Machine) =>
    refusal(
      'OSM_MACHINE_TWICE',
      `another process shows the certificate of ${namespace}/${name}, because the state folder was copied; leave with both machines, and join each with a token of its own`,
    ),
  virtualMachineTwice: ({ namespace, name }: Machine) =>
    refusal(
      'OSM_MACHINE_TWICE',
      `the virtual machine takes part as ${namespace}/${name} with another key; leave with it first`,
    ),
  unknown: (uuid: ProxyUUID) => refusal('OSM_MACHINE_UNKNOWN', `no machine has the sidecar ${uuid}`),
} as const

function refusal(code: MachineErrorCode, message: string): OsmError<MachineErrorCode> {
  return new OsmError(code, message)
}

/** Tells that there are more listeners to be had than the machine has ports for. */
export function warnOfMissingListeners(
  logger: ProcessLogger,
  { namespace, name, listeners }: Machine,
  missing: MachineListeners['missing'],
): void {
  const code: MachineErrorCode = 'OSM_MACHINE_LISTENERS'
  logger.warn(
    { code, namespace, machine: name, missing: missing.slice(0, 3), ...listeners },
    'the listeners of a machine are used up; join again with a larger --listeners',
  )
}

/** Warns once of the variables that a machine does not get, because several Services would have them. */
export class WithheldVariables {
  readonly #logger: ProcessLogger
  #told: ReadonlyMap<ProxyUUID, string> = new Map()

  constructor(logger: ProcessLogger) {
    this.#logger = logger
  }

  /** @param found - those of each machine, at the moment */
  tell(found: readonly (readonly [Machine, MachineListeners['withheld']])[]): void {
    const before = this.#told
    const now = new Map<ProxyUUID, string>()
    for (const [{ namespace, name, uuid }, withheld] of found) {
      if (withheld.length === 0) continue
      const text = withheld.join(' ')
      now.set(uuid, text)
      if (before.get(uuid) === text) continue
      const code: MachineErrorCode = 'OSM_MACHINE_VARIABLE'
      this.#logger.warn(
        { code, namespace, machine: name, variables: withheld.slice(0, 3) },
        'services of other namespaces have the same variable on a machine, which is not set; rename one of them',
      )
    }
    this.#told = now
  }
}

/**
 * Whether a report comes from another process than the one that was heard a moment ago, and which it does not follow.
 *
 * @param silentMs - since the last report
 */
export function isShownTwice(
  { run: known }: Pick<StoredMachine, 'run'>,
  { run, after }: MachineReport,
  silentMs: number,
): boolean {
  if (known === undefined || run === undefined || silentMs >= REPORT_OVERDUE_MS) return false
  return run !== known && after !== known
}

/** Tells that a machine is taken out of service. */
export function warnOfSilence(logger: ProcessLogger, { namespace, name, uuid }: Machine): void {
  logger.warn({ namespace, machine: name, uuid }, 'a machine does not report; it gets no traffic')
}
