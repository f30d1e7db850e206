import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ClusterError } from '../provider.js'
import { say } from '../../../tools/lib/progress.mjs'

/**
 * What the kernel allows each user. Nodes have one kernel, and every sidecar runs as the same user: an Envoy that gets no watch for files
 * aborts, and with the default of 128 that happens with some sixty pods.
 */
const least: Readonly<Record<string, number>> = {
  'fs/inotify/max_user_instances': 8192,
  'fs/inotify/max_user_watches': 524_288,
}

/** Raises the limits of this machine that are too low for a cluster, and says so: they stay until it is started again. */
export function raiseKernelLimits(settings = '/proc/sys'): void {
  for (const [name, wanted] of Object.entries(least)) {
    const file = join(settings, name)
    const found = Number(readFileSync(file, 'utf8'))
    if (found >= wanted) continue
    try {
      writeFileSync(file, `${wanted}\n`)
    } catch (error) {
      throw new ClusterError(`${file} is ${found} and can't be raised; a cluster takes ${wanted}`, { cause: error })
    }
    say(`raised ${name.replaceAll('/', '.')} from ${found} to ${wanted}`)
  }
}
