import { existsSync } from 'node:fs'
import { say } from '../lib/progress.mjs'
import { debianPackages, installCommand, mayInstallDebianPackages } from './debian-packages.mjs'
import { installWithoutService, onPath } from './system-service.mjs'

/** Where Debian has it, which is on the path of root only. */
const ofDebian = '/usr/sbin/haproxy'

/**
 * The path of a HAProxy: the one that HAPROXY_BIN names, that on the PATH, else that of the Debian package, which is installed where that may be done. Empty
 * if there is none: the tests of examples/driver-haproxy that run one are then left out.
 */
export async function ensureHaproxy() {
  if (process.env.HAPROXY_BIN !== undefined && process.env.HAPROXY_BIN !== '') return process.env.HAPROXY_BIN
  const found = await find()
  if (found !== '') return found
  const packages = debianPackages('haproxy')
  if (!mayInstallDebianPackages()) {
    say(`tests of examples/driver-haproxy with a real HAProxy are left out; on Debian: ${installCommand(packages)}`)
    return ''
  }
  await installWithoutService(packages, 'haproxy')
  return find()
}

async function find() {
  const found = await onPath('haproxy')
  if (found !== undefined) return found
  return existsSync(ofDebian) ? ofDebian : ''
}
