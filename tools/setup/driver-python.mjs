import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { say, timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { debianPackages, installCommand, installDebianPackages, mayInstallDebianPackages } from './debian-packages.mjs'

/** The example, relative to the root. */
export const pythonDriver = 'examples/driver-python'
const proto = 'packages/driver-process/proto/osm/driver/v1/driver.proto'
/** Prints what decides which files the package index gives, if the interpreter will do. */
const question = `import sys, sysconfig, venv, ensurepip
if sys.version_info >= (3, 11): print(sys.version, sysconfig.get_platform())`

/**
 * The folder of the package that examples/driver-python makes, with the `python3` of the PATH. Empty where that is older than 3.11 or cannot make virtual
 * environments: the tests of the example are then left out.
 */
export async function ensurePythonDriver() {
  const packages = debianPackages('driver-python')
  let python = await ask()
  if (python === '' && mayInstallDebianPackages()) {
    await installDebianPackages(packages)
    python = await ask()
  }
  if (python === '') {
    say(`tests of ${pythonDriver} are left out: they need Python 3.11 or newer; on Debian: ${installCommand(packages)}`)
    return ''
  }
  const folder = await cachedFolder(`driver-python-${hashInputs([python, ...sources()])}`, (partial) =>
    timed('Building the driver in Python', () => build(join(partial, 'package'))),
  )
  return join(folder, 'package')
}

/** @param {string} folder */
async function build(folder) {
  const { code, stdout, stderr } = await run('python3', [join(root, pythonDriver, 'build.py'), folder])
  if (code !== 0) throw new SetUpError(`${pythonDriver}/build.py failed.`, `${stdout.toString()}${stderr}`)
}

async function ask() {
  const { code, stdout } = await run('python3', ['-c', question])
  return code === 0 ? stdout.toString().trim() : ''
}

function sources() {
  const below = readdirSync(join(root, pythonDriver), { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.includes('__pycache__'))
    .map((path) => join(pythonDriver, path))
  return [...below.sort(), proto]
    .filter((path) => existsSync(join(root, path)) && statSync(join(root, path)).isFile())
    .flatMap((path) => [path, readFileSync(join(root, path))])
}
