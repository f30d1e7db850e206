import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { withLock } from '../lib/lock.mjs'
import { cacheRoot } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { elfNeeds } from './elf-needed.mjs'
import { file } from './oci-image.mjs'

/** @typedef {import('./host-files.mjs').FileSource} FileSource */

/** The names of Debian for folders of libraries. */
const triplets = /** @type {const} */ ({ arm64: 'aarch64-linux-gnu' })

/**
 * Files of Debian packages of another architecture, as the mirrors of this machine have them now. Nothing is installed, and the lists of
 * packages of this machine stay as they are.
 * @param {keyof typeof triplets} architecture
 * @param {readonly string[]} packages
 * @returns {Promise<FileSource>}
 */
export async function debianFiles(architecture, packages) {
  // apt gives up at once where another one uses its folders.
  const lock = join(cacheRoot(), `apt-${architecture}.lock`)
  const folder = await withLock(lock, () => extractedPackages(architecture, packages))
  return sourceIn(join(folder, 'files'), join(folder, 'status'), triplets[architecture])
}

/**
 * @param {string} architecture
 * @param {readonly string[]} packages
 */
async function extractedPackages(architecture, packages) {
  const state = await cachedFolder(`apt-${architecture}`, (partial) =>
    mkdir(join(partial, 'lists/partial'), { recursive: true }).then(() => undefined),
  )
  await mkdir(join(state, 'cache/archives/partial'), { recursive: true })
  await writeFile(join(state, 'status'), '')
  const config = join(state, 'apt.conf')
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State': state,
    'Dir::State::lists': join(state, 'lists'),
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache': join(state, 'cache'),
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";\n`)
  await writeFile(config, `#clear APT::Architectures;\n${lines.join('')}`)
  const apt = (/** @type {readonly string[]} */ args, /** @type {string} */ cwd) =>
    mustRun('apt-get', args, cwd, config)
  await timed(`Reading which packages Debian has for ${architecture}`, () => apt(['update', '--quiet'], state))
  // The addresses have the versions.
  const addresses = await apt(['download', '--print-uris', ...packages], state)
  return cachedFolder(`debian-${architecture}-${hashInputs([addresses])}`, (partial) =>
    timed(`Downloading ${packages.length} Debian packages for ${architecture}`, async () => {
      const [archives, files, status] = ['archives', 'files', 'status'].map((name) => join(partial, name))
      for (const path of [archives, files, status]) await mkdir(path ?? '')
      await apt(['download', ...packages], archives ?? '')
      for (const name of readdirSync(archives ?? '')) {
        const archive = join(archives ?? '', name)
        await mustRun('dpkg-deb', ['--extract', archive, files ?? ''], partial)
        const control = await mustRun('dpkg-deb', ['--field', archive], partial)
        await writeFile(join(status ?? '', name.slice(0, name.indexOf('_'))), control)
      }
      await rm(archives ?? '', { recursive: true })
    }),
  )
}

/**
 * @param {string} root of the files
 * @param {string} status folder with the control file of each package
 * @param {string} triplet
 * @returns {FileSource}
 */
function sourceIn(root, status, triplet) {
  const folders = [`/lib/${triplet}`, `/usr/lib/${triplet}`]
  /** Packages may have a file under /usr or not, whatever is usual. @param {string} path */
  const find = (path) => {
    const candidates = [path, `/usr${path}`, path.replace(/^\/usr/, '')].map((candidate) => join(root, candidate))
    return candidates.find((candidate) => existsSync(candidate))
  }
  return {
    find,
    libraries: (programs) => {
      /** @type {Set<string>} paths in the image */
      const found = new Set()
      const queue = [...programs]
      for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
        const { needed, interpreter } = elfNeeds(readFileSync(path))
        const wanted = needed.map((name) => {
          const candidates = folders.map((folder) => `${folder}/${name}`)
          // The dynamic linker is needed by its name as well.
          const present = [...candidates, `/lib/${name}`].find((candidate) => find(candidate) !== undefined)
          if (present === undefined) throw new SetUpError(`${path} needs ${name}, which no downloaded package has.`)
          return present
        })
        for (const library of interpreter === undefined ? wanted : [...wanted, interpreter]) {
          if (found.has(library)) continue
          found.add(library)
          queue.push(find(library) ?? '')
        }
      }
      return Promise.resolve([...found].sort())
    },
    records: () =>
      Promise.resolve(
        readdirSync(status)
          .sort()
          .flatMap((name) => {
            const copyright = `usr/share/doc/${name}/copyright`
            const path = join(root, copyright)
            return [
              file(`var/lib/dpkg/status.d/${name}`, readFileSync(join(status, name))),
              ...(existsSync(path) ? [file(copyright, readFileSync(path))] : []),
            ]
          }),
      ),
  }
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {string} [config] of apt
 */
async function mustRun(program, args, cwd, config) {
  const env = config === undefined ? {} : { APT_CONFIG: config }
  const { code, stdout, stderr } = await run(program, args, { cwd, env })
  if (code !== 0)
    throw new SetUpError(`"${[program, ...args].join(' ')}" failed with exit code ${code}; it takes Debian.`, stderr)
  return stdout.toString()
}
