import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { goObstacle } from './go.mjs'
import { GoProgress } from './go-progress.mjs'

/**
 * @typedef {object} GoBuild
 * @property {string} what for messages, such as `etcd 3.6.4`
 * @property {string} duration about how long it takes, such as `4 minutes on two cores`
 * @property {string} instead what to do on a machine that can't build
 * @property {string} module folder of the Go module that pins everything
 * @property {readonly string[]} packages each a program
 * @property {string} folder where the programs go, under the last part of their package's name
 * @property {string} [linkerFlags]
 * @property {readonly string[]} [tags] build tags
 * @property {boolean} [cgo] true: with a C compiler, for programs that hold C code
 */

/**
 * Builds programs that a tools module pins. All in one go: what several of them hold is compiled once.
 * @param {GoBuild} build
 */
export async function buildGoPrograms({
  what,
  duration,
  instead,
  module,
  packages,
  folder,
  linkerFlags = '-s -w',
  tags = [],
  cgo = false,
}) {
  const obstacle = await goObstacle()
  if (obstacle !== undefined) {
    throw new SetUpError(
      `${what} is built from source, but ${obstacle}. Install Go (https://go.dev/dl/), or ${instead}.`,
    )
  }
  // An older Go fetches the compiler that the module asks for, unless the user has forbidden it.
  const env = {
    CGO_ENABLED: cgo ? '1' : '0',
    GOFLAGS: '',
    GOWORK: 'off',
    GOTOOLCHAIN: process.env.GOTOOLCHAIN ?? 'auto',
  }
  /** @type {GoProgress | undefined} */
  let progress
  const tagged = `-tags=${tags.join(',')}`
  const work = async () => {
    const listed = await run('go', ['list', '-deps', tagged, '-mod=readonly', ...packages], { cwd: module, env })
    // What keeps packages from being listed keeps them from being built, and is told there.
    const known = new GoProgress(listed.code === 0 ? listed.stdout.toString().trim().split('\n') : [])
    progress = known
    const args = ['build', '-v', tagged, '-trimpath', '-buildvcs=false', '-mod=readonly', `-ldflags=${linkerFlags}`]
    const { code, stderr } = await run('go', [...args, '-o', `${folder}/`, ...packages], {
      cwd: module,
      env,
      onErrorLine: (line) => known.take(line),
    })
    const messages = stderr.split('\n').filter((line) => !known.isPackage(line))
    if (code !== 0) throw new SetUpError(`Could not build ${what}.`, lastLines(messages.join('\n')))
  }
  await timed(
    `Building ${what} (about ${duration}, once on this machine)`,
    work,
    () => progress?.describe() ?? 'fetching sources',
  )
}

/** @param {string} text */
function lastLines(text) {
  return text.trimEnd().split('\n').slice(-30).join('\n')
}
