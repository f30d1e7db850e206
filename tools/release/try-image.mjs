import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nodePath, programPath } from '../images/definitions.mjs'
import { run } from '../lib/process.mjs'
import { mustRun } from '../registry/packed-packages.mjs'
import { untar } from './untar.mjs'

/** A process of the image cannot have the capabilities that mounting takes: the second namespace has one user, which is not root. */
const isolated = `set -e
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
folder=$1
shift
exec unshare --user --map-user=65532 --map-group=65532 --root="$folder" --wd=/ -- "$@"`

/** Prints who runs, and how an attempt to write and one to start a shell end. */
const probe = `
const code = (attempt) => { try { attempt(); return 'done' } catch (error) { return error.code } }
const write = code(() => fs.writeFileSync('/written', ''))
const shell = code(() => { const { error } = child_process.spawnSync('/bin/sh', ['-c', 'true']); if (error) throw error })
console.log([process.getuid(), write, shell].join(' '))`

/**
 * Runs the program of an image as a container with a read-only root filesystem would: as a user without rights, in the files of the image
 * alone. It takes user namespaces and no container engine.
 * @param {string} folder that may be filled
 * @param {string} archive path of the image
 * @param {string} name of the image
 * @returns {Promise<void>} rejects if the program does not start, the root is writable or there is a shell
 */
export async function tryImage(folder, archive, name) {
  const root = join(folder, name)
  await mkdir(root)
  try {
    await unpack(await readFile(archive), root)
    const seen = (await runIn(root, nodePath, '--eval', probe)).trim()
    if (seen !== '65532 EROFS ENOENT')
      throw new Error(`${name}: expected user 65532, a read-only root and no shell (65532 EROFS ENOENT), got ${seen}`)
    const help = await runIn(root, nodePath, programPath(name), '--help')
    if (!help.includes(name)) throw new Error(`${name} --help: expected the usage of ${name}, got ${help}`)
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
  if (code !== 0) throw new Error(`"${command.join(' ')}" failed in its image with exit code ${code}: ${stderr}`)
  return stdout.toString()
}

/**
 * @param {Buffer} archive
 * @param {string} root
 */
async function unpack(archive, root) {
  const files = new Map(untar(archive).map(({ path, content }) => [path, content]))
  /** @type {readonly { readonly Layers: readonly string[] }[]} */
  const [image] = JSON.parse(String(files.get('manifest.json')))
  for (const [index, path] of (image?.Layers ?? []).entries()) {
    const layer = `${root}-layer-${index}`
    await writeFile(layer, files.get(path) ?? '')
    await mustRun(root, 'tar', '--extract', '--gzip', '--no-same-owner', '--file', layer)
    await rm(layer)
  }
}
