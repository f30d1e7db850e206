import { debianPackages, installCommand, mayInstallDebianPackages } from './debian-packages.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { installWithoutService, onPath } from './system-service.mjs'

/** The path of a Prometheus: the one that PROMETHEUS_BIN names, that on the PATH, else that of the Debian package, which is installed where that may be done. */
export async function ensurePrometheus() {
  const { PROMETHEUS_BIN: named = '' } = process.env
  if (named !== '') return named
  const found = await onPath('prometheus')
  if (found !== undefined) return found
  const packages = debianPackages('prometheus')
  if (!mayInstallDebianPackages())
    throw new SetUpError(`a Prometheus is needed: name one in PROMETHEUS_BIN; on Debian: ${installCommand(packages)}`)
  await installWithoutService(packages, 'prometheus')
  const installed = await onPath('prometheus')
  if (installed === undefined) throw new SetUpError(`Debian package ${packages.join(', ')} brought no prometheus.`)
  return installed
}
