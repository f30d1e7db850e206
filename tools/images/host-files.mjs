import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { file } from './oci-image.mjs'

/** @typedef {import('./tar.mjs').TarEntry} TarEntry */

/**
 * Where the files of an image come from: this machine, or packages of another architecture.
 * @typedef {object} FileSource
 * @property {(path: string) => string | undefined} find where a file of an image lies on this machine
 * @property {(programs: readonly string[]) => Promise<readonly string[]>} libraries what programs of this source load, as paths in an image; programs: where they lie
 * @property {(paths: readonly string[]) => Promise<readonly TarEntry[]>} records what says from which packages these paths come
 */

/** @type {FileSource} */
export const machineFiles = {
  find: (path) => (existsSync(path) ? path : undefined),
  libraries: sharedLibraries,
  records: packageRecords,
}

/**
 * The files at these paths, each under the path that it has in an image.
 * @param {FileSource} source
 * @param {readonly string[]} paths
 * @returns {readonly TarEntry[]}
 */
export function filesOf(source, paths) {
  return paths.map((path) => {
    const found = source.find(path)
    if (found === undefined) throw new SetUpError(`There is no ${path} to put into an image.`)
    return hostFile(found, path)
  })
}

/**
 * A program or library of this machine, under the path that it has in an image.
 * @param {string} source
 * @param {string} [path] absolute; the source's own when left out
 * @returns {TarEntry}
 */
export function hostFile(source, path = source) {
  return file(path.slice(1), readFileSync(source), 0o755)
}

/**
 * Everything that the dynamic linker loads for programs, itself included, as absolute paths.
 * @param {readonly string[]} programs
 * @returns {Promise<readonly string[]>}
 */
export async function sharedLibraries(programs) {
  const { code, stdout, stderr } = await run('ldd', programs)
  if (code !== 0) {
    throw new SetUpError(
      `"ldd ${programs.join(' ')}" failed. Images are assembled on Linux, from programs that are linked dynamically.`,
      stderr,
    )
  }
  return parseLdd(stdout.toString())
}

/**
 * @param {string} output of ldd
 * @returns {readonly string[]} sorted, each path once
 */
export function parseLdd(output) {
  const paths = output.split('\n').flatMap((line) => {
    const [, missing] = /^\s*(\S+) => not found/.exec(line) ?? []
    if (missing !== undefined) throw new SetUpError(`The dynamic linker does not find ${missing} on this machine.`)
    const [, path] = /(?:=>\s+|^\s+)(\/\S+)\s+\(0x/.exec(line) ?? []
    return path === undefined ? [] : [path]
  })
  return [...new Set(paths)].sort()
}

/**
 * What tells scanners and readers of licenses where files came from, in the places where distroless images have it: one status
 * file and one copyright file for each Debian package. Files that belong to no package add nothing.
 * @param {readonly string[]} sources absolute paths
 * @returns {Promise<readonly TarEntry[]>}
 */
export async function packageRecords(sources) {
  const records = await Promise.all((await packagesOf(sources)).map(packageRecord))
  return records.flat()
}

/**
 * The Debian packages that have these files.
 * @param {readonly string[]} sources absolute paths
 * @returns {Promise<readonly string[]>} names, sorted; none where there is no dpkg
 */
async function packagesOf(sources) {
  if (!existsSync('/usr/bin/dpkg-query')) return []
  // Where /lib is a link to /usr/lib, packages may have registered their files under either.
  const candidates = sources.flatMap((source) => {
    const real = realpathSync(source)
    return [source, real, real.replace(/^\/usr/, '')]
  })
  // It fails when it does not know one of them, and still lists the others.
  const { stdout } = await run('dpkg-query', ['--search', ...new Set(candidates)])
  return packageNames(stdout.toString())
}

/**
 * The Debian packages that have these files, and those that have their copyright files.
 * @param {readonly string[]} sources absolute paths
 * @returns {Promise<readonly string[]>} names, sorted
 */
export async function ownersOf(sources) {
  const names = await packagesOf(sources)
  // The documents of a package may be a link to those of another.
  const documents = names.map((name) => `/usr/share/doc/${name}`).filter((path) => existsSync(path))
  return [...new Set([...names, ...documents.map((path) => basename(realpathSync(path)))])].sort()
}

/**
 * @param {string} output of `dpkg-query --search`
 * @returns {readonly string[]} names of packages, sorted
 */
export function packageNames(output) {
  const names = output.split('\n').flatMap((line) => {
    // Diversions are told in sentences of their own
    const [, name] = /^([a-z0-9][a-z0-9.+-]+)(?::[a-z0-9]+)?: \//.exec(line) ?? []
    return name === undefined ? [] : [name]
  })
  return [...new Set(names)].sort()
}

/** @param {string} name */
async function packageRecord(name) {
  const { stdout } = await run('dpkg-query', ['--status', name])
  const copyright = `/usr/share/doc/${name}/copyright`
  return [
    file(`var/lib/dpkg/status.d/${name}`, stdout),
    ...(existsSync(copyright) ? [file(copyright.slice(1), readFileSync(copyright))] : []),
  ]
}
