import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../lib/process.mjs'

const controlGroups = '/sys/fs/cgroup'

/**
 * What keeps this environment from being the host of machines that are made of namespaces: a container that is not privileged, for example.
 * @returns {Promise<string | undefined>} undefined when nothing does
 */
export async function machineObstacle() {
  const { code } = await run('unshare', ['--net', '--mount', '--pid', '--fork', 'true'])
  if (code !== 0) return 'this environment may not create namespaces (CAP_SYS_ADMIN is missing)'
  return controlGroupObstacle(controlGroups)
}

/**
 * @param {string} root where the hierarchies of control groups are, or the only one is
 * @returns {string | undefined}
 */
export function controlGroupObstacle(root) {
  const hierarchies = hierarchiesOf(root)
  if (hierarchies.length === 0) return `there are no control groups in ${root}`
  for (const hierarchy of hierarchies) {
    const probe = join(hierarchy, `osm-ts-probe-${process.pid}`)
    try {
      mkdirSync(probe)
      rmdirSync(probe)
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      return `this environment may not create control groups in ${hierarchy} (${code})`
    }
  }
  return undefined
}

/**
 * The hierarchies of control groups of a machine: the one of the newer kind, or those of the older kind.
 * @param {string} root where they are
 * @param {boolean} [all] with a hierarchy of the newer kind beside older ones, which no limits come from
 * @returns {readonly string[]}
 */
export function hierarchiesOf(root, all = false) {
  if (existsSync(join(root, 'cgroup.controllers'))) return [root]
  if (!existsSync(root)) return []
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders
    .map(({ name }) => join(root, name))
    .filter((folder) => all || !existsSync(join(folder, 'cgroup.controllers')))
}
