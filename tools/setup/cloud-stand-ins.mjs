import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { say, timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildGoPrograms } from './go-build.mjs'
import { goObstacle } from './go.mjs'

const pins = join(root, 'tools/clouds')
/** Prints what decides which files the package index gives, if the interpreter will do. */
const question = `import sys, sysconfig, venv, ensurepip
if sys.version_info >= (3, 11): print(sys.version, sysconfig.get_platform())`

/**
 * Builds the stand-ins of clouds that tests of endpoints providers call: Azure's of the fakes in Microsoft's SDK for Go, and moto for AWS.
 * @returns {Promise<{ OSM_AZURE_STAND_IN: string, OSM_MOTO_PYTHON: string }>} a program, and the interpreter that has moto; each is empty where it cannot be built,
 *   and its tests are then left out
 */
export async function ensureCloudStandIns() {
  const [azure, moto] = await Promise.all([ensureAzure(), ensureMoto()])
  return { OSM_AZURE_STAND_IN: azure, OSM_MOTO_PYTHON: moto }
}

async function ensureAzure() {
  const obstacle = await goObstacle()
  if (obstacle !== undefined) {
    say(`tests of packages/endpoints-azure against Azure's fakes are left out: ${obstacle}`)
    return ''
  }
  const module = join(pins, 'go')
  const key = hashInputs(sourcesBelow(module))
  const folder = await cachedFolder(`cloud-azure-${key}-${process.platform}-${process.arch}`, (partial) =>
    buildGoPrograms({
      what: 'the stand-in of Azure',
      duration: 'a minute',
      instead: 'leave its tests out',
      module,
      packages: ['./...'],
      folder: partial,
    }),
  )
  return join(folder, 'azure')
}

async function ensureMoto() {
  const { code, stdout } = await run('python3', ['-c', question])
  const version = code === 0 ? stdout.toString().trim() : ''
  if (version === '') {
    say('tests of packages/endpoints-aws against moto are left out: they need Python 3.11 or newer with venv')
    return ''
  }
  const requirements = join(pins, 'python/requirements.txt')
  const folder = await cachedFolder(`cloud-moto-${hashInputs([version, readFileSync(requirements)])}`, (partial) =>
    timed('Installing moto', async () => {
      // Scripts of an environment hold its path, which changes when the folder gets its name; only the interpreter is used.
      await succeeded('python3', ['-m', 'venv', '--without-pip', partial])
      const site = (
        await succeeded(join(partial, 'bin/python'), ['-c', 'import site; print(site.getsitepackages()[0])'])
      ).trim()
      const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-compile']
      const exact = ['--require-hashes', '--only-binary=:all:', `--target=${site}`, '-r', requirements]
      await succeeded('python3', ['-m', 'pip', 'install', ...quiet, ...exact])
    }),
  )
  return join(folder, 'bin/python')
}

/** @param {string} folder */
function sourcesBelow(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .flatMap((path) => [path.slice(folder.length), readFileSync(path)])
}

/**
 * @param {string} file
 * @param {readonly string[]} args
 */
async function succeeded(file, args) {
  const { code, stdout, stderr } = await run(file, args)
  if (code !== 0) throw new SetUpError(`"${file} ${args.join(' ')}" failed with exit code ${code}.`, stderr)
  return stdout.toString()
}
