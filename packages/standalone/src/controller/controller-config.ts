import { readFileSync } from 'node:fs'

import { OsmError } from '@osm-ts/driver-api'
import type { DriverEntry, ProviderEntry } from '@osm-ts/driver-process'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import type { StandaloneErrorCode } from '../errors.js'
import type { VirtualAddresses } from '../addresses/virtual-addresses.js'

/** What a controller process is started with: a JSON file whose path is its only argument. It holds no secret. */
export interface ControllerConfig {
  /** Folder of YAML. */
  readonly folder: string
  /** Folder of WorkloadInstances. */
  readonly instances: string
  /** Folder of roots, shared with the supervisor. */
  readonly ca: string
  readonly environment: Readonly<Record<string, string>>
  /** Where proxies connect, with a port for each sidecar class. */
  readonly proxyServer: { readonly address: string; readonly ports: Readonly<Record<string, number>> }
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
  readonly ports: { readonly debug: number; readonly health: number }
  /** Drivers beside those that are built in, as the supervisor has read them. */
  readonly driverPackages: readonly DriverEntry[]
  readonly endpointsProviders: readonly ProviderEntry[]
  /** How machines join; none can if absent. */
  readonly machines?: {
    readonly address: string
    readonly port: number
    /** Folder of join tokens. */
    readonly tokens: string
    /** Folder of machines that have joined. */
    readonly folder: string
  }
  /** Unix socket of a SPIFFE Workload API whose roots are trusted; none if absent. */
  readonly workloadApiSocket?: string
  /** File with the last answers of endpoints providers. */
  readonly endpointsFile: string
  /** Transparent mode: virtual addresses by `<namespace>/<service>` at the start. Later ones come over standard input. */
  readonly virtualAddresses: VirtualAddresses
}

/** A line on the standard input of a controller process. */
export interface ControllerInput {
  readonly virtualAddresses: VirtualAddresses
}

/** The one line that a controller process prints when everything listens. */
export interface ControllerReady {
  readonly ready: true
  readonly debugUrl: string
  readonly healthUrl: string
  readonly proxyPorts: Readonly<Record<string, number>>
}

/** @throws OsmError OSM_STANDALONE_CONTROLLER_CONFIG */
export function readControllerConfig(path: string): ControllerConfig {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw configError(`${path} can't be read as JSON: ${errorMessage(cause)}`, cause)
  }
  // The supervisor of the same program wrote it; what is told apart here is another file from this one.
  if (
    isRecord(value) &&
    isRecord(value.proxyServer) &&
    isRecord(value.serverNames) &&
    isRecord(value.ports) &&
    Array.isArray(value.driverPackages) &&
    Array.isArray(value.endpointsProviders)
  )
    return value as unknown as ControllerConfig
  throw configError(`${path} is not a configuration of a controller process`, undefined)
}

/** The message of a line of standard output, if that is what it is. */
export function parseControllerReady(line: string): ControllerReady | undefined {
  const value = tryParse(line)
  if (!isRecord(value) || value.ready !== true || typeof value.debugUrl !== 'string') return undefined
  return value as unknown as ControllerReady
}

/** The message of a line of standard input, if that is what it is. */
export function parseControllerInput(line: string): ControllerInput | undefined {
  const value = tryParse(line)
  return isRecord(value) && isRecord(value.virtualAddresses) ? (value as unknown as ControllerInput) : undefined
}

function tryParse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}

function configError(message: string, cause: unknown): OsmError<StandaloneErrorCode> {
  return new OsmError('OSM_STANDALONE_CONTROLLER_CONFIG', message, { cause })
}
