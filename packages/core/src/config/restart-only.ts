import { sameValue } from '../spec/content.js'
import type { DriverEntry, MeshConfig } from './mesh-config.js'

/** A setting that was changed and takes effect after a restart only. */
export interface RestartOnlyChange {
  /** Path inside the MeshConfig. */
  readonly field: string
  /** What holds until then, in words. */
  readonly holds: string
}

/** A configuration whose restart-only settings are those that a process started with. */
export interface PinnedConfig {
  readonly config: MeshConfig
  readonly changes: readonly RestartOnlyChange[]
}

const driversField = 'spec.sidecar.sidecarDrivers'

/**
 * Takes everything from the wanted configuration but what a running controller can't change: its default class, and the drivers that it has started with,
 * their ports and settings.
 *
 * @param started - the configuration that the process started with
 */
export function pinRestartOnly(started: MeshConfig, wanted: MeshConfig): PinnedConfig {
  const changes = restartOnlyChanges(started, wanted)
  if (changes.length === 0) return { config: wanted, changes }
  return {
    config: Object.freeze({
      ...wanted,
      sidecar: Object.freeze({
        ...wanted.sidecar,
        sidecarClass: started.sidecar.sidecarClass,
        drivers: Object.freeze(started.sidecar.drivers.map((entry) => pinEntry(entry, wanted.sidecar.drivers))),
      }),
    }),
    changes,
  }
}

/** What of the wanted configuration has to wait for a restart. */
export function restartOnlyChanges(started: MeshConfig, wanted: MeshConfig): readonly RestartOnlyChange[] {
  const { sidecarClass } = started.sidecar
  return [
    ...(wanted.sidecar.sidecarClass === sidecarClass
      ? []
      : [{ field: 'spec.sidecar.sidecarClass', holds: sidecarClass }]),
    ...driverChanges(started.sidecar.drivers, wanted.sidecar.drivers),
  ]
}

function driverChanges(started: readonly DriverEntry[], wanted: readonly DriverEntry[]): readonly RestartOnlyChange[] {
  const gone = started.filter(({ name }) => !wanted.some((entry) => entry.name === name))
  return [
    ...gone.map(({ name }) => ({ field: driversField, holds: `the entry of ${name}` })),
    ...wanted.flatMap((entry, index) => {
      const field = `${driversField}[${index}]`
      const before = started.find(({ name }) => name === entry.name)
      if (before === undefined) return [{ field, holds: `no entry of ${entry.name}` }]
      return [
        ...(before.proxyServerPort === entry.proxyServerPort
          ? []
          : [{ field: `${field}.proxyServerPort`, holds: String(before.proxyServerPort ?? 'the default port') }]),
        ...(sameValue(before.config, entry.config)
          ? []
          : [{ field: `${field}.config`, holds: 'the configuration before' }]),
      ]
    }),
  ]
}

/** Images are for new pods, which others admit. */
function pinEntry(started: DriverEntry, wanted: readonly DriverEntry[]): DriverEntry {
  const entry = wanted.find(({ name }) => name === started.name)
  if (entry === undefined) return started
  return Object.freeze({ ...entry, proxyServerPort: started.proxyServerPort, config: started.config })
}
