import { spawn } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const sources = ['package.json', 'package-lock.json'].map((name) => join(root, 'tools/registry/verdaccio', name))
const startMilliseconds = 60_000
const pollMilliseconds = 100

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
  const child = spawn(process.execPath, [program, '--config', config, '--listen', `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said = `${said}${text}`.slice(-4_000)
    })
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill()
    await ended
  }
  const url = `http://127.0.0.1:${port}/`
  const deadline = performance.now() + startMilliseconds
  while (!(await answers(`${url}-/ping`))) {
    if (child.exitCode === null && performance.now() < deadline) await sleep(pollMilliseconds)
    else {
      await stop()
      throw new SetUpError('The package registry does not start.', said)
    }
  }
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
async function installVerdaccio() {
  const contents = await Promise.all(sources.map((path) => readFile(path)))
  return cachedFolder(`verdaccio-${hashInputs([...contents, process.version])}`, (folder) =>
    timed('Installing verdaccio', async () => {
      await Promise.all(sources.map((path) => copyFile(path, join(folder, path.slice(path.lastIndexOf('/') + 1)))))
      const { code, stderr } = await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder })
      if (code !== 0) throw new SetUpError('verdaccio cannot be installed with npm.', stderr)
    }),
  )
}

/** @param {string} url */
async function answers(url) {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
