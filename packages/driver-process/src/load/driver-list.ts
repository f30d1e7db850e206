import { readFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'

import { isDriverName, type OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { processError } from '../wire/failure.js'

/** What becomes of a workload whose driver does not answer: `Fail` refuses it, `Ignore` lets it run without a sidecar. */
type FailurePolicy = 'Fail' | 'Ignore'

/** A driver package to load. */
export interface PackageEntry {
  /** Sidecar class that the driver must be of. */
  readonly name: string
  readonly failurePolicy: FailurePolicy
  /** Folder of the package, with everything that it needs. */
  readonly path: string
  /** What `packageIntegrity` says of that folder: `sha512-` and Base64. */
  readonly integrity: string
  /** Largest heap, in MiB. */
  readonly heapMb: number
  /** Largest resident set, in MiB. */
  readonly residentMb: number
}

/** A driver that somebody else serves. */
export interface SocketEntry {
  /** Sidecar class that the driver must be of. */
  readonly name: string
  readonly failurePolicy: FailurePolicy
  /** Unix socket on which it serves `osm.driver.v1.Driver`. The host puts its own sockets beside it. */
  readonly socket: string
}

/** An entry of a list of drivers. */
export type DriverEntry = PackageEntry | SocketEntry

/** Variable that lists drivers where no flag does. */
const LIST_VARIABLE = 'OSM_DRIVER_PACKAGES'
const MEMBERS = ['name', 'path', 'integrity', 'socket', 'heapMb', 'residentMb', 'failurePolicy']
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/
/** Largest heap of a package that the list says nothing of, in MiB. */
export const DEFAULT_HEAP_MB = 256
/** Largest resident set of a package that the list says nothing of, in MiB. */
export const DEFAULT_RESIDENT_MB = 512
const MAX_MB = 65_536

/**
 * The drivers that a program is to have beside those that it is built with, as `--driver-packages` and `OSM_DRIVER_PACKAGES` name them: each a file with
 * a list, or the list itself, which begins with a brace. The flag counts where both are there.
 *
 * @throws OsmError as {@link readDriverList} does
 */
export async function listedDrivers(
  flag: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly DriverEntry[]> {
  const [given, place] = flag === '' ? [environment[LIST_VARIABLE] ?? '', LIST_VARIABLE] : [flag, '--driver-packages']
  if (given.trim() === '') return []
  return given.trimStart().startsWith('{') ? parseDriverList(given, `of ${place}`) : readDriverList(given)
}

/**
 * Reads a file with a list of drivers: JSON, `{"drivers": [{"name", "path", "integrity"} or {"name", "socket"}]}`.
 *
 * @throws OsmError with code `OSM_DRIVER_LIST`, naming the file, the entry and the member
 */
export async function readDriverList(file: string): Promise<readonly DriverEntry[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw listError(file, `cannot be read: ${errorMessage(cause)}`)
  }
  return parseDriverList(text, file)
}

function parseDriverList(text: string, place: string): readonly DriverEntry[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw listError(place, `cannot be read as JSON: ${errorMessage(cause)}`)
  }
  if (!isRecord(value) || !Array.isArray(value['drivers'])) throw listError(place, 'must have a list of drivers')
  const entries = value['drivers'].map((entry: unknown, index) => readEntry(entry, place, `drivers[${index}]`))
  const names = entries.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw listError(place, `names driver ${twice} twice`)
  return entries
}

function readEntry(entry: unknown, file: string, place: string): DriverEntry {
  const fail = (what: string): never => {
    throw listError(file, `${place}${what}`)
  }
  if (!isRecord(entry)) return fail(' must be an object')
  const unknown = Object.keys(entry).find((member) => !MEMBERS.includes(member))
  if (unknown !== undefined) return fail(`.${unknown} is not known; there are ${MEMBERS.join(', ')}`)
  const { name, path, integrity, socket, failurePolicy = 'Fail' } = entry
  if (typeof name !== 'string' || !isDriverName(name) || name !== name.toLowerCase())
    return fail('.name must be a sidecar class: a DNS label in lower case')
  if (failurePolicy !== 'Fail' && failurePolicy !== 'Ignore') return fail('.failurePolicy must be Fail or Ignore')
  if ((path === undefined) === (socket === undefined)) return fail(' must have either path or socket')
  if (socket !== undefined) {
    if (typeof socket !== 'string' || !isAbsolute(socket)) return fail('.socket must be an absolute path')
    const other = ['integrity', 'heapMb', 'residentMb'].find((member) => entry[member] !== undefined)
    if (other !== undefined) return fail(`.${other} is for packages; this driver has a socket`)
    return { name, failurePolicy, socket }
  }
  if (typeof path !== 'string' || !isAbsolute(path)) return fail('.path must be an absolute path')
  if (!isIntegrity(integrity)) return fail('.integrity must be sha512- and the Base64 of the digest of the folder')
  const mebibytes = (member: 'heapMb' | 'residentMb', fallback: number): number => {
    const size = entry[member] ?? fallback
    if (typeof size === 'number' && Number.isInteger(size) && size >= 16 && size <= MAX_MB) return size
    return fail(`.${member} must be a number of MiB from 16 to ${MAX_MB}`)
  }
  return {
    name,
    failurePolicy,
    path,
    integrity,
    heapMb: mebibytes('heapMb', DEFAULT_HEAP_MB),
    residentMb: mebibytes('residentMb', DEFAULT_RESIDENT_MB),
  }
}

/** True for the form of a digest of a package folder. */
export function isIntegrity(value: unknown): value is string {
  return typeof value === 'string' && INTEGRITY.test(value)
}

function listError(file: string, what: string): OsmError {
  return processError('OSM_DRIVER_LIST', `the list of drivers ${file} ${what}`, { file })
}
