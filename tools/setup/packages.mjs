import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

/**
 * What decides the content of node_modules: the lock file, the workspace's settings, and the platform, for which
 * packages bring their own binaries.
 * @param {string} folder
 */
export function installHash(folder) {
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((name) => readFileSync(join(folder, name)))
  return hashInputs([...files, process.platform, process.arch])
}

/** True when node_modules was made from the lock file as it is now. */
export function packagesAreCurrent(folder = root) {
  const stamp = stampFile(folder)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === installHash(folder)
}

/** Installs the packages of the lock file with the pinned pnpm, unless that has been done. */
export async function ensurePackages() {
  if (packagesAreCurrent()) return
  const hash = installHash(root)
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  await timed('Installing packages', async () => {
    // --yes, because an npm configuration may say yes=false. CI keeps pnpm from asking whether it may replace
    // node_modules.
    const args = ['--yes', packageManager, 'install', '--frozen-lockfile', '--reporter=append-only']
    const { code, stdout, stderr } = await run('npx', args, { env: { CI: 'true' } })
    if (code === 0) return
    throw new SetUpError(`"npx ${args.join(' ')}" failed with exit code ${code}.`, `${stdout.toString()}${stderr}`)
  })
  writeFileSync(stampFile(root), hash)
}

/** @param {string} folder */
function stampFile(folder) {
  return join(folder, 'node_modules/.osm-ts-install')
}
