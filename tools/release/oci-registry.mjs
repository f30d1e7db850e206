import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from '../lib/cache.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { freePort, startLocalServer } from '../registry/local-server.mjs'

/**
 * Starts an OCI registry on the loopback address that holds nothing: CNCF Distribution, as Debian packages it.
 * @param {string} folder for its data
 * @returns {Promise<{ host: string, stop: () => Promise<void> }>} host with its port
 */
export async function startOciRegistry(folder) {
  const program = await ensureDistribution()
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

/** Unpacked and not installed: this needs no root, and starts no service. */
async function ensureDistribution() {
  if (existsSync('/usr/bin/docker-registry')) return '/usr/bin/docker-registry'
  const folder = await cachedFolder(`docker-registry-debian-${process.arch}`, (partial) =>
    timed('Downloading the image registry', async () => {
      const work = join(partial, '.work')
      await mkdir(work)
      await mustRun('apt-get', ['download', 'docker-registry'], work)
      const archive = (await readdir(work)).find((name) => name.endsWith('.deb'))
      if (archive === undefined) throw new SetUpError('apt-get left no archive of docker-registry.')
      await mustRun('dpkg-deb', ['--extract', archive, partial], work)
      await rm(work, { recursive: true })
    }),
  )
  return join(folder, 'usr/bin/docker-registry')
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 */
async function mustRun(program, args, cwd) {
  const { code, stderr } = await run(program, args, { cwd })
  if (code !== 0)
    throw new SetUpError(
      `"${[program, ...args].join(' ')}" failed with exit code ${code}. The image registry comes from Debian or a relative of it; ` +
        'elsewhere install one as /usr/bin/docker-registry.',
      stderr,
    )
}
