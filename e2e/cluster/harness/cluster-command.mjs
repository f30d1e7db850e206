import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { root } from '../../../tools/lib/paths.mjs'

/**
 * @typedef {object} ClusterAnswer
 * @property {number | null} code
 * @property {any} answer what it printed; undefined if that is not JSON
 * @property {() => any} succeeded the answer; throws if it failed
 */

/**
 * Runs `npm run cluster` as a user does; its progress shows.
 * @param {'up' | 'load' | 'status' | 'down'} command
 * @param {readonly string[]} options
 * @returns {Promise<ClusterAnswer>}
 */
export async function clusterCommand(command, options) {
  const args = ['tools/bootstrap.mjs', 'cluster', command, ...options, '-o', 'json']
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const output = await text(child.stdout)
  const code = /** @type {number | null} */ (await ended)
  const answer = parse(output)
  return {
    code,
    answer,
    succeeded: () => {
      if (code !== 0) throw new Error(`npm run cluster -- ${[command, ...options].join(' ')} failed: ${output}`)
      return answer
    },
  }
}

/** Takes down clusters of test runs that were killed: their names end in the number of the process. */
export async function removeForgottenClusters() {
  for (const folder of readdirSync('/var/lib')) {
    const [, name, pid] = /^osm-cluster-([blt](\d+))$/.exec(folder) ?? []
    if (name !== undefined && pid !== undefined && !existsSync(join('/proc', pid)))
      (await clusterCommand('down', ['--name', name])).succeeded()
  }
}

/** @param {string} output */
function parse(output) {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
