import { relative } from 'node:path'
import { bundlePrograms } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'

/**
 * Bundles the programs named, or all.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(names) {
  const bundles = await bundlePrograms(names.length > 0 ? names : undefined)
  for (const bundle of bundles) process.stdout.write(`${relative(root, bundle)}\n`)
  return 0
}
