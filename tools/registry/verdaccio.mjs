import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureLockedPackages } from '../lib/locked-packages.mjs'
import { root } from '../lib/paths.mjs'
import { freePort, startLocalServer } from './local-server.mjs'

/**
 * @typedef {object} Registry
 * @property {string} url with a slash at its end
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a package registry on the loopback address that holds nothing, and asks no other registry for anything.
 * @param {string} folder that it may fill; somebody else removes it
 * @returns {Promise<Registry>}
 */
export async function startRegistry(folder) {
  const program = join(await installVerdaccio(), 'node_modules/verdaccio/bin/verdaccio')
  const config = join(folder, 'verdaccio.yaml')
  await writeFile(config, configuration(folder))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const stop = await startLocalServer('The package registry', {
    file: process.execPath,
    args: [program, '--config', config, '--listen', `127.0.0.1:${port}`],
    cwd: folder,
    url: `${url}-/ping`,
  })
  return { url, stop }
}

/** @param {string} folder */
function configuration(folder) {
  // Anyone who reaches loopback may publish: nothing but this task asks, and the registry ends with it.
  const anybody = { access: '$all', publish: '$all', unpublish: '$all' }
  return JSON.stringify({
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd'), max_users: -1 } },
    uplinks: {},
    packages: { '@*/*': anybody, '**': anybody },
    web: { enable: false },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  })
}

/** The server with what it depends on, as its lock file has it. */
function installVerdaccio() {
  return ensureLockedPackages(join(root, 'tools/registry/verdaccio'), {
    name: 'verdaccio',
    title: 'verdaccio',
    task: 'Installing verdaccio',
    inputs: [process.version],
  })
}
