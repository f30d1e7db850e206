import { existsSync } from 'node:fs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import {
  debianPackages,
  installCommand,
  installDebianPackages,
  mayInstallDebianPackages,
  missingDebianPackages,
} from './debian-packages.mjs'

const purpose = 'api'

/** The path of an etcd: that on the PATH, else that of the Debian package, which is installed where that may be done. */
export async function ensureEtcd() {
  const found = await onPath()
  if (found !== undefined) return found
  const packages = debianPackages(purpose)
  if (!mayInstallDebianPackages())
    throw new SetUpError(`etcd is needed on the PATH; on Debian: ${installCommand(packages)}`)
  const missing = await missingDebianPackages(packages)
  if (missing.length > 0) await installWithoutService(missing)
  const installed = await onPath()
  if (installed === undefined) throw new SetUpError(`Debian package ${packages.join(', ')} brought no etcd.`)
  return installed
}

/**
 * The package starts a system service, now and at every boot. Nobody asked for one: it goes again. A service that was there before is its
 * user's own, and then there was nothing to install.
 * @param {readonly string[]} names
 */
async function installWithoutService(names) {
  await installDebianPackages(names)
  if (existsSync('/run/systemd/system')) {
    await run('systemctl', ['disable', '--now', 'etcd.service'])
  } else if (existsSync('/etc/init.d/etcd')) {
    await run('/etc/init.d/etcd', ['stop'])
    await run('update-rc.d', ['etcd', 'disable'])
  }
}

async function onPath() {
  const { code, stdout } = await run('sh', ['-c', 'command -v etcd'])
  return code === 0 ? stdout.toString().trim() : undefined
}
