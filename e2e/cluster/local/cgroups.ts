import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hierarchiesOf } from '../../../tools/setup/machine-obstacle.mjs'
import { ClusterError } from '../provider.js'

const root = '/sys/fs/cgroup'
const removeTimeoutMs = 20_000
const pollMs = 50

/** Makes a control group with one child for each node, wherever kubelet looks for it. */
export function createCgroups(cgroup: string, nodes: readonly string[]): void {
  for (const hierarchy of hierarchiesOf(root)) {
    for (const path of [cgroup, ...nodes.map((node) => join(cgroup, node))]) {
      mkdirSync(join(hierarchy, path), { recursive: true })
      prepare(hierarchy, path)
    }
  }
}

/** Removes a control group with all below it, from which every process must be about to end. */
export async function removeCgroups(cgroup: string): Promise<void> {
  const deadline = performance.now() + removeTimeoutMs
  for (;;) {
    const left = hierarchiesOf(root, true)
      .map((hierarchy) => join(hierarchy, cgroup))
      .filter((folder) => existsSync(folder) && !removeTree(folder))
    if (left.length === 0) return
    if (performance.now() > deadline) throw new ClusterError(`control groups are still in use: ${left.join(', ')}`)
    await sleep(pollMs)
  }
}

/** True if any hierarchy has such a control group. */
export function cgroupExists(cgroup: string): boolean {
  return hierarchiesOf(root, true).some((hierarchy) => existsSync(join(hierarchy, cgroup)))
}

function isUnified(): boolean {
  return existsSync(join(root, 'cgroup.controllers'))
}

/** A new group of the older kind lacks processors, and one of the newer kind lacks controllers, until it is given those of its parent. */
function prepare(hierarchy: string, path: string): void {
  const folder = join(hierarchy, path)
  if (isUnified()) {
    for (const parent of [hierarchy, folder]) {
      const controllers = readFileSync(join(parent, 'cgroup.controllers'), 'utf8').trim().split(/\s+/)
      writeFileSync(join(parent, 'cgroup.subtree_control'), controllers.map((name) => `+${name}`).join(' '))
    }
    return
  }
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(join(folder, file)) && readFileSync(join(folder, file), 'utf8').trim() === '')
      writeFileSync(join(folder, file), readFileSync(join(folder, '..', file), 'utf8'))
  }
}

/** False if something in it is still in use. */
function removeTree(folder: string): boolean {
  try {
    const children = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const gone = children.map(({ name }) => removeTree(join(folder, name)))
    if (gone.includes(false)) return false
    rmdirSync(folder)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return true
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false
    throw error
  }
}
