import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withLock } from '../lib/lock.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const lockTimeoutMilliseconds = 120_000
const lockPollMilliseconds = 500

/** apt-get waits for others that install, but "update" fails when another one is at it: two checkouts that are set up at once. */
const updateLock = '/run/lock/osm-ts-packages.lock'

/** True on systems whose packages come from apt. */
export function isDebian() {
  return existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-query')
}

/** True where packages can be installed without asking anybody. */
export function mayInstallDebianPackages() {
  return isDebian() && process.getuid?.() === 0
}

/**
 * The names listed for one purpose.
 * @param {string} list content of debian-packages.txt
 * @param {string} purpose
 */
export function packagesFor(list, purpose) {
  const lines = list.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return lines.flatMap((line) => {
    const [name = '', neededBy, ...why] = line.split(/\s+/)
    if (neededBy === undefined || why.length === 0)
      throw new Error(`debian-packages.txt: "${line}" lacks who needs it or why`)
    return neededBy === purpose ? [name] : []
  })
}

/** @param {string} purpose */
export function debianPackages(purpose) {
  return packagesFor(readFileSync(join(root, 'tools/debian-packages.txt'), 'utf8'), purpose)
}

/** @param {readonly string[]} names */
export async function missingDebianPackages(names) {
  // dpkg-query fails as a whole when it does not know one of them, but still lists the others.
  const { stdout } = await run('dpkg-query', ['--show', '--showformat=${Package} ${db:Status-Status}\\n', ...names])
  const installed = new Set(stdout.toString().split('\n'))
  return names.filter((name) => !installed.has(`${name} installed`))
}

/**
 * The command a user would type to install them.
 * @param {readonly string[]} names
 */
export function installCommand(names) {
  return `sudo apt-get install --no-install-recommends ${names.join(' ')}`
}

/** @param {readonly string[]} names */
export async function installDebianPackages(names) {
  await timed(`Installing Debian packages: ${names.join(', ')}`, async () => {
    const waiting = ['-o', `DPkg::Lock::Timeout=${lockTimeoutMilliseconds / 1000}`, '-qq']
    await withLock(updateLock, () => apt([...waiting, 'update']))
    await apt([...waiting, 'install', '--yes', '--no-install-recommends', ...names])
  })
}

/** @param {readonly string[]} args */
async function apt(args) {
  const deadline = performance.now() + lockTimeoutMilliseconds
  for (;;) {
    const { code, stdout, stderr } = await run('apt-get', args, { env: { DEBIAN_FRONTEND: 'noninteractive' } })
    if (code === 0) return
    // The lists have a lock for which apt itself does not wait, whatever it was told.
    if (!stderr.includes('Could not get lock') || performance.now() > deadline)
      throw new SetUpError(
        `"apt-get ${args.join(' ')}" failed with exit code ${code}.`,
        `${stdout.toString()}${stderr}`,
      )
    await sleep(lockPollMilliseconds)
  }
}
