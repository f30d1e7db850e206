import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { cachedFolder } from '../lib/cache.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

/**
 * A program of a Debian package. Where it is not installed, the package is unpacked into the cache: this needs no root and starts no service.
 * @param {{ what: string, debianPackage: string, path: string }} program what: for messages, such as `the image registry`; path: absolute, where the package installs the program
 * @returns {Promise<string>} where the program is
 */
export async function ensureUnpackedProgram({ what, debianPackage, path }) {
  if (existsSync(path)) return path
  const name = basename(path)
  const folder = await cachedFolder(`${name}-debian-${process.arch}`, (partial) =>
    timed(`Downloading ${what}`, async () => {
      const work = join(partial, '.work')
      const files = join(work, 'files')
      await mkdir(files, { recursive: true })
      const take = async (/** @type {string} */ program, /** @type {string[]} */ ...args) => {
        const { code, stderr } = await run(program, args, { cwd: work })
        if (code === 0) return
        const command = [program, ...args].join(' ')
        throw new SetUpError(
          `"${command}" failed with exit code ${code}. Install ${what} as ${path}, or use Debian or a relative of it.`,
          stderr,
        )
      }
      await take('apt-get', 'download', debianPackage)
      const archive = (await readdir(work)).find((file) => file.endsWith('.deb'))
      if (archive === undefined) throw new SetUpError(`apt-get left no archive of ${debianPackage}.`)
      await take('dpkg-deb', '--extract', archive, files)
      await copyFile(join(files, path), join(partial, name))
      await rm(work, { recursive: true })
    }),
  )
  return join(folder, name)
}
