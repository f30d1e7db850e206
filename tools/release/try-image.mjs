import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nodePath, programPath } from '../images/definitions.mjs'
import { run } from '../lib/process.mjs'
import { mustRun } from '../registry/packed-packages.mjs'
import { ensureUnpackedProgram } from '../setup/unpacked-program.mjs'
import { untar } from './untar.mjs'

/** A process of the image cannot have the capabilities that mounting takes: the second namespace has one user, which is not root. */
const isolated = `set -e
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
folder=$1
shift
exec unshare --user --map-user=65532 --map-group=65532 --root="$folder" --wd=/ -- "$@"`

/** Prints who runs on which processor, and how an attempt to write and one to start a shell end. */
const probe = `
const code = (attempt) => { try { attempt(); return 'done' } catch (error) { return error.code } }
const write = code(() => fs.writeFileSync('/written', ''))
const shell = code(() => { const { error } = child_process.spawnSync('/bin/sh', ['-c', 'true']); if (error) throw error })
console.log([process.arch, process.getuid(), write, shell].join(' '))`

/** The names of Node.js for the architectures of images. */
const processors = /** @type {const} */ ({ amd64: 'x64', arm64: 'arm64' })

/** Runs programs of arm64 as processes of this machine. Linked statically, so it needs nothing of the image. */
const emulator = {
  what: 'an emulator of arm64',
  debianPackage: 'qemu-user-static',
  path: '/usr/bin/qemu-aarch64-static',
}
const emulatorInImage = '/.emulator'

/**
 * What the init container starts, with a text that proves that it found its libraries and extensions. Nothing changes rules, and nothing opens
 * a netlink socket of nftables: emulators have none.
 */
const initProbes = [
  { command: ['/bin/sh', '-c', 'echo started'], output: 'started' },
  { command: ['/usr/sbin/xtables-nft-multi'], output: 'Valid subcommands' },
  ...['iptables', 'ip6tables'].map((family) => ({
    command: ['/usr/sbin/xtables-legacy-multi', family, '--match', 'owner', '--help'],
    output: 'owner match options',
  })),
]

/** @typedef {keyof typeof processors} Architecture */
/** Runs a command in an image; output is that of both streams. @typedef {(...command: string[]) => Promise<{ code: number, output: string }>} Attempt */

/**
 * Runs the program of an image as a container with a read-only root filesystem would: as a user without rights, in the files of the image
 * alone. It takes user namespaces and no container engine.
 * @param {string} folder that may be filled
 * @param {string} archive path of the image
 * @param {string} name of the image
 * @param {Architecture} architecture
 * @returns {Promise<void>} rejects if the program does not start, the root is writable or there is a shell
 */
export function tryImage(folder, archive, name, architecture) {
  return inImage(folder, archive, architecture, async (attempt) => {
    const seen = (await attempt(nodePath, '--eval', probe)).output.trim()
    const expected = `${processors[architecture]} 65532 EROFS ENOENT`
    if (seen !== expected)
      throw new Error(`${name}: expected user 65532, a read-only root and no shell (${expected}), got ${seen}`)
    const { code, output } = await attempt(nodePath, programPath(name), '--help')
    if (code !== 0 || !output.includes(name))
      throw new Error(`${name} --help: expected the usage of ${name}, got code ${code} and ${output}`)
  })
}

/**
 * Runs what the init container runs, without changing any rules.
 * @param {string} folder that may be filled
 * @param {string} archive path of the image
 * @param {Architecture} architecture
 * @returns {Promise<void>} rejects if one of {@link initProbes} fails
 */
export function tryInitImage(folder, archive, architecture) {
  return inImage(folder, archive, architecture, async (attempt) => {
    for (const { command, output } of initProbes) {
      const got = await attempt(...command)
      if (!got.output.includes(output))
        throw new Error(`"${command.join(' ')}": expected "${output}", got ${got.output}`)
    }
  })
}

/**
 * @param {string} folder
 * @param {string} archive
 * @param {Architecture} architecture
 * @param {(attempt: Attempt) => Promise<void>} use
 */
async function inImage(folder, archive, architecture, use) {
  const root = join(folder, 'root')
  await mkdir(root)
  try {
    await unpack(await readFile(archive), root, architecture)
    const isEmulated = process.arch !== processors[architecture]
    if (isEmulated) await copyFile(await ensureUnpackedProgram(emulator), join(root, emulatorInImage))
    await use((...command) => runIn(root, ...(isEmulated ? [emulatorInImage] : []), ...command))
  } finally {
    await rm(root, { recursive: true })
  }
}

/**
 * @param {string} root
 * @param {...string} command
 */
async function runIn(root, ...command) {
  const args = ['--user', '--map-root-user', '--mount', 'sh', '-c', isolated, 'sh', root, ...command]
  // Nothing of this machine may help the program.
  const { code, stdout, stderr } = await run('env', ['-i', `PATH=${process.env.PATH ?? ''}`, 'unshare', ...args])
  return { code, output: `${stdout.toString()}${stderr}` }
}

/**
 * @param {Buffer} archive
 * @param {string} root
 * @param {Architecture} architecture
 */
async function unpack(archive, root, architecture) {
  for (const [index, bytes] of layersOf(archive, architecture).entries()) {
    const layer = `${root}-layer-${index}`
    await writeFile(layer, bytes)
    await mustRun(root, 'tar', '--extract', '--gzip', '--no-same-owner', '--file', layer)
    await rm(layer)
  }
}

/**
 * @param {Buffer} archive of an image for several architectures
 * @param {Architecture} architecture
 * @returns {readonly Uint8Array[]}
 */
function layersOf(archive, architecture) {
  const files = new Map(untar(archive).map(({ path, content }) => [path, content]))
  const blob = (/** @type {string} */ digest) => {
    const found = files.get(`blobs/${digest.replace(':', '/')}`)
    if (found === undefined) throw new Error(`the archive has no blob ${digest}`)
    return found
  }
  /** @typedef {{ readonly digest: string, readonly platform: { readonly architecture: string } }} Part */
  /** @type {{ readonly manifests: readonly [Part] }} */
  const { manifests } = JSON.parse(String(files.get('index.json')))
  /** @type {{ readonly manifests: readonly Part[] }} */
  const joined = JSON.parse(String(blob(manifests[0].digest)))
  const part = joined.manifests.find(({ platform }) => platform.architecture === architecture)
  if (part === undefined) throw new Error(`the archive has no image for ${architecture}`)
  /** @type {{ readonly layers: readonly { readonly digest: string }[] }} */
  const { layers } = JSON.parse(String(blob(part.digest)))
  return layers.map(({ digest }) => blob(digest))
}
