import { existsSync } from 'node:fs'
import { run } from '../lib/process.mjs'
import { installDebianPackages } from './debian-packages.mjs'

/**
 * Installs packages of which one starts a system service, now and at every boot. No one requested that: it goes again. A service that
 * was there before is its user's own, and then there was nothing to install.
 * @param {readonly string[]} packages
 * @param {string} service
 */
export function installWithoutService(packages, service) {
  return installWithoutServices(packages, [service])
}

/**
 * The same for packages of which several start a service.
 * @param {readonly string[]} packages
 * @param {readonly string[]} services
 */
export async function installWithoutServices(packages, services) {
  await installDebianPackages(packages)
  for (const service of services) await disable(service)
}

/** @param {string} service */
async function disable(service) {
  if (existsSync('/run/systemd/system')) {
    await run('systemctl', ['disable', '--now', `${service}.service`])
  } else if (existsSync(`/etc/init.d/${service}`)) {
    await run(`/etc/init.d/${service}`, ['stop'])
    await run('update-rc.d', [service, 'disable'])
  }
}

/**
 * Where the shell finds a program.
 * @param {string} program
 */
export async function onPath(program) {
  const { code, stdout } = await run('sh', ['-c', 'command -v "$0"', program])
  return code === 0 ? stdout.toString().trim() : undefined
}
