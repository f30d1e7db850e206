import { localBin } from '../lib/paths.mjs'
import { runAttached } from '../lib/process.mjs'

/**
 * Writes the reference of the driver contract to docs/reference/driver-api.
 * @type {import('../run-task.mjs').Task}
 */
export function task(args) {
  return runAttached(localBin('typedoc'), args, { stdoutToStderr: true })
}
