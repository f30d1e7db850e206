import { SetUpError } from '../lib/set-up-error.mjs'
import { debianPackages, installCommand, mayInstallDebianPackages } from './debian-packages.mjs'
import { installWithoutService, onPath } from './system-service.mjs'

const purpose = 'ingress'

/** The path of an nginx: that on the PATH, else that of the Debian package, which is installed where that may be done. */
export async function ensureNginx() {
  const found = await onPath('nginx')
  if (found !== undefined) return found
  const packages = debianPackages(purpose)
  if (!mayInstallDebianPackages())
    throw new SetUpError(`nginx is needed on the PATH; on Debian: ${installCommand(packages)}`)
  await installWithoutService(packages, 'nginx')
  const installed = await onPath('nginx')
  if (installed === undefined) throw new SetUpError(`Debian package ${packages.join(', ')} brought no nginx.`)
  return installed
}
