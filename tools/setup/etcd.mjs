import { SetUpError } from '../lib/set-up-error.mjs'
import { debianPackages, installCommand, mayInstallDebianPackages, missingDebianPackages } from './debian-packages.mjs'
import { installWithoutService, onPath } from './system-service.mjs'

const purpose = 'api'

/** The path of an etcd: that on the PATH, else that of the Debian package, which is installed where that may be done. */
export async function ensureEtcd() {
  const found = await onPath('etcd')
  if (found !== undefined) return found
  const packages = debianPackages(purpose)
  if (!mayInstallDebianPackages())
    throw new SetUpError(`etcd is needed on the PATH; on Debian: ${installCommand(packages)}`)
  const missing = await missingDebianPackages(packages)
  if (missing.length > 0) await installWithoutService(missing, 'etcd')
  const installed = await onPath('etcd')
  if (installed === undefined) throw new SetUpError(`Debian package ${packages.join(', ')} brought no etcd.`)
  return installed
}
