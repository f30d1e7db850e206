import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, startLocalServer } from '../registry/local-server.mjs'
import { ensureUnpackedProgram } from '../setup/unpacked-program.mjs'

const distribution = { what: 'the image registry', debianPackage: 'docker-registry', path: '/usr/bin/docker-registry' }

/**
 * Starts an OCI registry on the loopback address that holds nothing: CNCF Distribution, as Debian packages it.
 * @param {string} folder for its data
 * @returns {Promise<{ host: string, stop: () => Promise<void> }>} host with its port
 */
export async function startOciRegistry(folder) {
  const program = await ensureUnpackedProgram(distribution)
  const host = `127.0.0.1:${await freePort()}`
  const config = join(folder, 'registry.json')
  await writeFile(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: 'warn' },
      storage: { filesystem: { rootdirectory: join(folder, 'data') } },
      http: { addr: host },
    }),
  )
  const stop = await startLocalServer('The image registry', {
    file: program,
    args: ['serve', config],
    cwd: folder,
    url: `http://${host}/v2/`,
  })
  return { host, stop }
}
