import { run } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import {
  debianPackages,
  installCommand,
  installDebianPackages,
  isDebian,
  missingDebianPackages,
} from './debian-packages.mjs'

const programs = ['iptables-restore', 'ip6tables-restore', 'ip', 'setpriv', 'sysctl']

/**
 * Finds out whether traffic can be intercepted on this machine, installing what that takes where it may.
 * Where it can't, says why and what to do: the scenarios of that mode are then left out.
 * @returns {Promise<boolean>}
 */
export async function ensureTransparentMode() {
  const obstacle = await findObstacle()
  if (obstacle === undefined) return true
  say(`transparent mode is left out: ${obstacle}`)
  return false
}

async function findObstacle() {
  if (process.platform !== 'linux') return 'network namespaces and iptables exist on Linux only'
  if (process.getuid?.() !== 0) return `it takes root. Run: ${await commandForRoot()}`
  const { code } = await run('unshare', ['--net', 'true'])
  if (code !== 0) return 'this environment may not create network namespaces (CAP_SYS_ADMIN is missing)'
  if (isDebian()) {
    const missing = await missingDebianPackages(debianPackages('transparent'))
    if (missing.length > 0) await installDebianPackages(missing)
  }
  const absent = await absentPrograms()
  return absent.length === 0 ? undefined : `install ${absent.join(', ')} and run this again`
}

async function commandForRoot() {
  const missing = isDebian() ? await missingDebianPackages(debianPackages('transparent')) : []
  return [...(missing.length > 0 ? [installCommand(missing)] : []), 'sudo npm test'].join(' && ')
}

async function absentPrograms() {
  const codes = await Promise.all(programs.map(async (name) => (await run('sh', ['-c', 'command -v "$0"', name])).code))
  return programs.filter((_, index) => codes[index] !== 0)
}
