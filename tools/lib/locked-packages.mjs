import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from './cache.mjs'
import { run } from './process.mjs'
import { timed } from './progress.mjs'
import { SetUpError } from './set-up-error.mjs'

/**
 * Installs with npm exactly what a lock file has, once for all checkouts of this machine.
 * @param {string} pins folder of package.json and package-lock.json
 * @param {object} options
 * @param {string} options.name of the folder in the cache, before the hash of its inputs
 * @param {string} options.title of what is installed, for messages
 * @param {string} options.task what is done, for progress
 * @param {readonly string[]} [options.inputs] what else the installation depends on
 * @param {readonly string[]} [options.args] more arguments of npm
 * @returns {Promise<string>} the folder above node_modules
 */
export async function ensureLockedPackages(pins, { name, title, task, inputs = [], args = [] }) {
  const files = ['package.json', 'package-lock.json']
  const contents = await Promise.all(files.map((file) => readFile(join(pins, file))))
  return cachedFolder(`${name}-${hashInputs([...contents, ...inputs])}`, (folder) =>
    timed(task, async () => {
      await Promise.all(files.map((file) => copyFile(join(pins, file), join(folder, file))))
      const command = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', ...args]
      const { code, stderr } = await run('npm', command, { cwd: folder })
      if (code !== 0) throw new SetUpError(`${title} cannot be installed with npm.`, stderr)
    }),
  )
}
