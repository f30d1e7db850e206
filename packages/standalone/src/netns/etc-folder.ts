import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { types } from 'node:util'
import { OsmError } from '@osm-ts/driver-api'

/** Where `ip netns exec` looks for files that replace those in /etc. */
const etcRoot = '/etc/netns'

/** One line of a hosts file. */
export interface HostEntry {
  readonly address: string
  readonly names: readonly string[]
}

const hostName = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/

/**
 * Makes the folder of a network namespace. Names are found in its hosts file and nowhere else: no query leaves the namespace, and an
 * unknown name fails at once.
 */
export function createEtcFolder(namespace: string, hosts: readonly HostEntry[]): void {
  const folder = join(etcRoot, namespace)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'hosts'), formatHosts(hosts))
  // C libraries that know no nsswitch.conf ask a nameserver: one that is refused at once.
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
  writeFileSync(join(folder, 'nsswitch.conf'), 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n')
}

/**
 * Replaces the hosts file under running programs.
 *
 * They see this very inode through a bind mount, so it can't be replaced by renaming. One write covers all of the old text, padded with
 * empty lines where the new one is shorter: a program that reads at that moment sees no half-cut line of either.
 */
export function rewriteHosts(namespace: string, hosts: readonly HostEntry[]): void {
  const file = openSync(join(etcRoot, namespace, 'hosts'), 'r+')
  try {
    const text = formatHosts(hosts)
    writeSync(file, text.padEnd(fstatSync(file).size, '\n'), 0)
  } finally {
    closeSync(file)
  }
}

function formatHosts(hosts: readonly HostEntry[]): string {
  const lines = hosts.map(({ address, names }) => {
    const wrong = isIP(address) === 0 ? address : names.find((name) => !hostName.test(name))
    if (wrong === undefined) return `${address} ${names.join(' ')}`
    throw new OsmError(
      'OSM_NETNS_INVALID',
      `${JSON.stringify(wrong)} is invalid in a hosts file; write an IP address and host names`,
    )
  })
  return ['127.0.0.1 localhost', '::1 localhost ip6-localhost', ...lines, ''].join('\n')
}

/** Names of the namespaces that have a folder. */
export function listEtcFolders(): readonly string[] {
  try {
    return readdirSync(etcRoot)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Removes the folder of a namespace, and the folder above once it is empty. */
export function removeEtcFolder(namespace: string): void {
  rmSync(join(etcRoot, namespace), { recursive: true, force: true })
  if (listEtcFolders().length > 0) return
  try {
    rmdirSync(etcRoot)
  } catch {
    // Somebody made a folder in it, or removed it, just now; either is fine.
  }
}

function isMissing(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === 'ENOENT'
}
