import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isRecord } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

const installKinds = ['self-hosted', 'managed'] as const

/** What the user, or who prepared the machine, has written down about the meshes that osm deals with. */
export interface CliConfig {
  /** `managed`: somebody else installs, upgrades and uninstalls the mesh, such as the provider of the cluster. */
  readonly kind: (typeof installKinds)[number]
  /** Distributor of the mesh; empty if unset. */
  readonly distribution: string
  /** Namespace of the control plane where the command line names none. */
  readonly namespace: string
}

/** What holds where there is no file. */
export const defaultConfig: CliConfig = { kind: 'self-hosted', distribution: '', namespace: 'osm-system' }

/**
 * Reads the file that `OSM_CONFIG` names, else `~/.osm/config.yaml`. No file means defaults.
 *
 * @throws OsmError if the file exists but cannot be read or is invalid
 */
export async function loadConfig(variables: CliContext['variables']): Promise<CliConfig> {
  const path = configPath(variables)
  const text = path === undefined ? undefined : await textOf(path)
  if (path === undefined || text === undefined) return defaultConfig
  const { parse } = await import('../output/yaml-library.js')
  const wrong = (what: string, hint: string, cause?: unknown): Error =>
    cliError('OSM_CLI_CONFIG', `${path}: ${what}`, hint, cause)
  let content: unknown
  try {
    content = parse(text)
  } catch (error) {
    throw wrong('is not valid YAML', 'osm env prints an example', error)
  }
  const install = isRecord(content) ? (content['install'] ?? {}) : content
  // An empty file is as good as none.
  if (install === null) return defaultConfig
  if (!isRecord(install)) throw wrong('must be a mapping with the key install', 'osm env prints an example')
  const field = (name: keyof CliConfig): string => {
    const value = install[name] ?? ''
    if (typeof value === 'string') return value || defaultConfig[name]
    throw wrong(`install.${name} is ${JSON.stringify(value)}`, 'it must be a string')
  }
  const kind = installKinds.find((known) => known === field('kind'))
  if (kind === undefined)
    throw wrong(`install.kind is ${JSON.stringify(field('kind'))}`, `it must be one of ${installKinds.join(', ')}`)
  return { kind, distribution: field('distribution'), namespace: field('namespace') }
}

function configPath({ OSM_CONFIG, HOME, USERPROFILE }: CliContext['variables']): string | undefined {
  // Empty is what a script makes of a variable that is not set.
  if (OSM_CONFIG) return OSM_CONFIG
  const home = HOME || USERPROFILE
  return home ? join(home, '.osm', 'config.yaml') : undefined
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isRecord(error) && (error['code'] === 'ENOENT' || error['code'] === 'ENOTDIR')) return undefined
    throw cliError(
      'OSM_CLI_CONFIG',
      `${path} cannot be read`,
      'make it readable, or set OSM_CONFIG to another file',
      error,
    )
  }
}
