import type { JoinRequest, MachineGrant } from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'

/** A machine that takes part in the mesh. */
export interface Machine extends MachineGrant {
  readonly uuid: ProxyUUID
  readonly name: string
  readonly sidecarClass: string
  readonly address: string
  readonly ports: JoinRequest['ports']
  readonly listeners: JoinRequest['listeners']
}

/** The machines of a mesh, wherever they are written down. All replicas of a controller see the same ones. */
export interface Machines {
  find(uuid: ProxyUUID): Promise<Machine | undefined>
  /**
   * Adds a machine, or replaces what is known of one with the same uuid. It gets no traffic before it {@link report}s that it is ready.
   *
   * @throws OsmError with code `OSM_MACHINE_NAME`, `OSM_MACHINE_ACCOUNT` or `OSM_MACHINE_LIMIT`
   */
  admit(machine: Machine): Promise<void>
  /**
   * Notes that a machine is alive, and whether it is ready.
   *
   * @returns how its workload is told to reach others, by environment variable
   */
  report(uuid: ProxyUUID, ready: boolean): Promise<Readonly<Record<string, string>>>
  remove(uuid: ProxyUUID): Promise<void>
  /** Follows the mesh, and takes machines out of service that do not report, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}
