import { readFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'

import type { OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'
import type { JsonObject } from '@osm-ts/endpoints-api'

import { DEFAULT_HEAP_MB, DEFAULT_RESIDENT_MB, isIntegrity } from '../load/driver-list.js'
import { processError } from '../wire/failure.js'

/** An endpoints provider to run. */
export interface ProviderEntry {
  /** Name of the provider, unique in the list. */
  readonly name: string
  /** The package, in its folder, and its digest; absent for a built-in provider. */
  readonly package?: { readonly path: string; readonly integrity: string }
  readonly settings: JsonObject
  /** Names of variables that the process of the provider gets of our environment, for credentials. */
  readonly variables: readonly string[]
  /** Largest heap, in MiB. */
  readonly heapMb: number
  /** Largest resident set, in MiB. */
  readonly residentMb: number
}

/** Providers that need no package. */
const BUILT_IN_PROVIDERS: readonly string[] = ['dns', 'file']
const LIST_VARIABLE = 'OSM_ENDPOINTS_PROVIDERS'
const MEMBERS = ['name', 'path', 'integrity', 'settings', 'variables', 'heapMb', 'residentMb']
const MAX_PROVIDERS = 32
const MAX_MB = 65_536
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Names that the mesh gives to its own providers. */
const RESERVED = ['kubernetes', 'folder', 'mesh', 'outside-services', 'external-workloads']

/**
 * The endpoints providers of `--endpoints-providers` and `OSM_ENDPOINTS_PROVIDERS`: each a file with a list, or the list itself, which begins with a brace. The
 * flag has precedence.
 *
 * @throws OsmError with code `OSM_ENDPOINTS_LIST`, naming the file, the entry and the member
 */
export async function listedProviders(
  flag: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly ProviderEntry[]> {
  const [given, place] =
    flag === '' ? [environment[LIST_VARIABLE] ?? '', LIST_VARIABLE] : [flag, '--endpoints-providers']
  if (given.trim() === '') return []
  if (given.trimStart().startsWith('{')) return parseProviderList(given, `of ${place}`)
  let text: string
  try {
    text = await readFile(given, 'utf8')
  } catch (cause) {
    throw listError(given, `cannot be read: ${errorMessage(cause)}`)
  }
  return parseProviderList(text, given)
}

function parseProviderList(text: string, place: string): readonly ProviderEntry[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw listError(place, `cannot be read as JSON: ${errorMessage(cause)}`)
  }
  if (!isRecord(value) || !Array.isArray(value['providers'])) throw listError(place, 'must have a list of providers')
  const { providers } = value
  if (providers.length > MAX_PROVIDERS)
    throw listError(place, `has ${providers.length} providers; at most ${MAX_PROVIDERS} are accepted`)
  const entries = providers.map((entry: unknown, index) => readEntry(entry, place, `providers[${index}]`))
  const names = entries.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw listError(place, `names provider ${twice} twice`)
  return entries
}

function readEntry(entry: unknown, file: string, place: string): ProviderEntry {
  const fail = (what: string): never => {
    throw listError(file, `${place}${what}`)
  }
  if (!isRecord(entry)) return fail(' must be an object')
  const unknown = Object.keys(entry).find((member) => !MEMBERS.includes(member))
  if (unknown !== undefined) return fail(`.${unknown} is not known; there are ${MEMBERS.join(', ')}`)
  const { name, path, integrity, settings = {}, variables = [] } = entry
  if (typeof name !== 'string' || !NAME.test(name) || RESERVED.includes(name))
    return fail(`.name must be a DNS label in lower case other than ${RESERVED.join(', ')}`)
  if (!isRecord(settings)) return fail('.settings must be an object')
  if (!Array.isArray(variables) || !variables.every(isVariable))
    return fail('.variables must be a list of names of environment variables')
  const mebibytes = (member: 'heapMb' | 'residentMb', fallback: number): number => {
    const size = entry[member] ?? fallback
    if (typeof size === 'number' && Number.isInteger(size) && size >= 16 && size <= MAX_MB) return size
    return fail(`.${member} must be a number of MiB from 16 to ${MAX_MB}`)
  }
  const shared = {
    name,
    settings: settings as JsonObject, // of a text that was parsed as JSON
    variables,
    heapMb: mebibytes('heapMb', DEFAULT_HEAP_MB),
    residentMb: mebibytes('residentMb', DEFAULT_RESIDENT_MB),
  }
  if (path === undefined) {
    if (integrity !== undefined) return fail('.integrity is for packages; this entry has no path')
    if (!BUILT_IN_PROVIDERS.includes(name))
      return fail(`.path must be the folder of a package; without one there are ${BUILT_IN_PROVIDERS.join(', ')}`)
    return shared
  }
  if (typeof path !== 'string' || !isAbsolute(path)) return fail('.path must be an absolute path')
  if (!isIntegrity(integrity)) return fail('.integrity must be sha512- and the Base64 of the digest of the folder')
  return { ...shared, package: { path, integrity } }
}

function isVariable(value: unknown): value is string {
  return typeof value === 'string' && VARIABLE.test(value)
}

function listError(file: string, what: string): OsmError {
  return processError('OSM_ENDPOINTS_LIST', `the list of endpoints providers ${file} ${what}`, { file })
}
