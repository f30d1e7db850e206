import { existsSync, readdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterError } from '../provider.js'
import { runCommand } from '../run-command.js'
import { cgroupExists, removeCgroups } from './cgroups.js'
import { readEnvironment } from './machine-process.js'
import { markerVariable, type ClusterNames } from './names.js'

const killTimeoutMs = 30_000
const linkTimeoutMs = 10_000
const pollMs = 50

/** Whatever of a cluster is on this machine, in words. */
export async function clusterTraces(names: ClusterNames): Promise<readonly string[]> {
  const processes = markedProcesses(names.name)
  return [
    ...(processes.length > 0 ? [`${processes.length} processes`] : []),
    ...((await hasLink(names.hostLink)) ? [`network link ${names.hostLink}`] : []),
    ...(cgroupExists(names.cgroup) ? [`control group ${names.cgroup}`] : []),
    ...(existsSync(names.folder) ? [`folder ${names.folder}`] : []),
  ]
}

/**
 * Removes everything of a cluster, whatever of it there is. With the first process of each machine all others end, with them its
 * namespaces, and with those its mounts, links, routes and packet filters.
 */
export async function removeCluster(names: ClusterNames): Promise<void> {
  await killProcesses(names.name)
  await removeCgroups(names.cgroup)
  await removeLink(names.hostLink)
  rmSync(names.folder, { recursive: true, force: true })
}

async function killProcesses(name: string): Promise<void> {
  const deadline = performance.now() + killTimeoutMs
  for (;;) {
    const processes = markedProcesses(name)
    if (processes.length === 0) return
    if (performance.now() > deadline)
      throw new ClusterError(`processes of the cluster do not end: ${processes.join(', ')}`)
    for (const pid of processes) kill(pid)
    await sleep(pollMs)
  }
}

function markedProcesses(name: string): readonly number[] {
  const mark = `${markerVariable}=${name}`
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
  return pids.filter((pid) => readEnvironment(pid).includes(mark))
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** The kernel takes namespaces apart after their last process has ended, and their links with them. */
async function removeLink(name: string): Promise<void> {
  const deadline = performance.now() + linkTimeoutMs
  while (await hasLink(name)) {
    if (performance.now() > deadline) throw new ClusterError(`network link ${name} can't be removed`)
    // It may go by itself between the question and this.
    await runCommand('ip', ['link', 'delete', name]).catch(() => undefined)
    await sleep(pollMs)
  }
}

async function hasLink(name: string): Promise<boolean> {
  const links = JSON.parse(await runCommand('ip', ['-j', 'link', 'show'])) as readonly { readonly ifname: string }[]
  return links.some(({ ifname }) => ifname === name)
}
