import { join } from 'node:path'

/** The checkout. The bundle of this program lies in fuzz/dist. */
const root = join(import.meta.dirname, '../..')

/** Inputs of a target that are part of the checkout. */
export function corpusFolder(target: string): string {
  return join(root, 'fuzz/corpus', target)
}

/** Inputs that earlier runs have found to reach something new. */
export function cacheFolder(target: string): string {
  return join(root, '.cache/fuzz', target)
}

/** Inputs that break an invariant. */
export const findingsFolder = join(root, 'fuzz/findings')

/** The input that a worker runs now, for when it hangs or ends. */
export function currentInputFile(target: string): string {
  return join(root, '.cache/fuzz', `${target}.current`)
}
