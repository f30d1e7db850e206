import { readFileSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { baseFiles } from './base-files.mjs'
import { sidecarInitImage as definition } from './definitions.mjs'
import { filesOf, hostFile, machineFiles } from './host-files.mjs'
import { file, makeImage, makeLayer } from './oci-image.mjs'

/** @typedef {import('./tar.mjs').TarEntry} TarEntry */
/** @typedef {import('./host-files.mjs').FileSource} FileSource */

/** What the script of packages/interception calls, and what that calls. */
const shellPrograms = { '/bin/sh': '/usr/bin/dash', '/usr/bin/cat': '', '/usr/bin/sed': '', '/usr/bin/tr': '' }
const tablePrograms = ['/usr/sbin/xtables-nft-multi', '/usr/sbin/xtables-legacy-multi']
const names = ['iptables', 'ip6tables'].flatMap((family) => [family, `${family}-save`, `${family}-restore`])

/** Extensions for other tools of the package, which are not in the image. */
const foreignExtension = /^lib(arp|eb)t_/

/**
 * A shell, a few text tools and iptables with all of its extensions, from the packages of this machine. Runs as root, because only
 * root may change the tables of a pod; what it may do beyond that is up to the pod's security context.
 * @param {import('./assemble.mjs').ImageSettings} settings
 * @param {FileSource} [source]
 */
export async function sidecarInitImage({ registry, tag, architecture, labels, created }, source = machineFiles) {
  const layer = makeLayer('iptables, a shell and what they need, from Debian packages', await sidecarInitFiles(source))
  return makeImage({
    name: `${registry}/${definition.name}:${tag}`,
    architecture,
    ...(created !== undefined && { created }),
    layers: [layer],
    config: {
      User: '0:0',
      Env: ['PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/bin'],
      Cmd: ['/bin/sh'],
      WorkingDir: '/',
      Labels: { ...labels, 'org.opencontainers.image.title': definition.title },
    },
  })
}

/**
 * @param {string} path
 * @param {string} target
 * @returns {TarEntry}
 */
function link(path, target) {
  return { path, type: 'link', mode: 0o777, target }
}

/** Paths in the image, and where a source has them. */
const imagePrograms = [
  ...Object.entries(shellPrograms).map(([path, source]) => ({ path, source: source || path })),
  ...tablePrograms.map((path) => ({ path, source: path })),
]

/** @returns {Promise<readonly string[]>} everything of this machine that the image has, as absolute paths */
export async function sidecarInitSources() {
  const paths = [...imagePrograms.map(({ source }) => source), ...extensionPaths(machineFiles)]
  return [...paths, ...(await machineFiles.libraries(paths))]
}

/**
 * @param {FileSource} source
 * @returns {Promise<readonly TarEntry[]>}
 */
async function sidecarInitFiles(source) {
  const programs = imagePrograms.map(({ path, source: from }) => ({ path, from: placeOf(source, from) }))
  const extensions = extensionPaths(source)
  const sources = [...programs.map(({ from }) => from), ...extensions.map((path) => placeOf(source, path))]
  const libraries = await source.libraries(sources)
  return [
    ...baseFiles(),
    // iptables keeps its lock here where it uses the older tables.
    { path: 'run', type: 'folder', mode: 0o755 },
    ...programs.map(({ path, from }) => hostFile(realpathSync(from), path)),
    ...filesOf(source, [...libraries, ...extensions]),
    file('usr/local/sbin/select-tables', readFileSync(join(root, 'images/osm-sidecar-init/select-tables')), 0o755),
    ...names.map((name) => link(`usr/local/sbin/${name}`, 'select-tables')),
    ...(await source.records([...sources, ...libraries])),
  ]
}

/**
 * @param {FileSource} source
 * @param {string} path
 */
function placeOf(source, path) {
  const found = source.find(path)
  if (found !== undefined) return found
  throw new SetUpError(
    `osm-sidecar-init is assembled from the packages of Debian or a relative of it, and ${path} is missing. Install them ` +
      '(apt-get install iptables), build images/osm-sidecar-init/Dockerfile, or name the images that you want.',
  )
}

/** @param {FileSource} source */
function extensionPaths(source) {
  const folder = readdirSync(placeOf(source, '/usr/lib'))
    .map((name) => `/usr/lib/${name}/xtables`)
    .find((path) => source.find(path) !== undefined)
  if (folder === undefined) throw new SetUpError('No folder /usr/lib/*/xtables with the extensions of iptables.')
  return readdirSync(placeOf(source, folder))
    .filter((name) => name.endsWith('.so') && !foreignExtension.test(name))
    .map((name) => join(folder, name))
    .sort()
}
