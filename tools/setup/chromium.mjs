import { debianPackages, installCommand, mayInstallDebianPackages } from './debian-packages.mjs'
import { say } from '../lib/progress.mjs'
import { installWithoutServices, onPath } from './system-service.mjs'

/**
 * The path of a Chromium: the one that CHROMIUM_BIN names, that on the PATH, else that of the Debian package, which is installed where that may be done.
 * Undefined if there is none.
 */
export async function ensureChromium() {
  const named = process.env.CHROMIUM_BIN ?? ''
  if (named !== '') return named
  const found = await onPath('chromium')
  if (found !== undefined) return found
  const packages = debianPackages('ui')
  if (!mayInstallDebianPackages()) {
    say(`a Chromium is needed: name one in CHROMIUM_BIN; on Debian: ${installCommand(packages)}`)
    return undefined
  }
  await installWithoutServices(packages, [])
  return onPath('chromium')
}
