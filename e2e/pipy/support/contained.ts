import { initWrapper } from '@osm-ts/driver-pipy/testing'
import { childOf, type WorkerBootstrap } from './worker.js'

/** User of sidecars. */
const UID = '1500'

/** Runs Pipy as a container does: behind its init wrapper, which is the first process of its own namespace, as a user who may do nothing. */
export const inContainer: NonNullable<WorkerBootstrap['enter']> = (argv) => {
  // The last two are Pipy and its script; what is in front of them ends it if the test does not.
  const [pipy = '', script = ''] = argv.slice(-2)
  const user = [
    'setpriv',
    `--reuid=${UID}`,
    `--regid=${UID}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ]
  const namespace = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']
  const [file, ...args] = [...argv.slice(0, -2), ...namespace, ...user, ...initWrapper, pipy, script]
  return { file, args }
}

/** The first process of a container that was started by {@link inContainer}, and Pipy in it, by their numbers outside of it. */
export function containedProcesses(started: number): { readonly first: number; readonly pipy: number } {
  const first = childOf(childOf(started))
  return { first, pipy: childOf(first) }
}
