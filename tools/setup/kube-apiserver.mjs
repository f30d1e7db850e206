import { existsSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from '../lib/cache.mjs'
import { withLock } from '../lib/lock.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { goObstacle } from './go.mjs'

const program = 'kube-apiserver'

/** Go module that pins Kubernetes and all that it is built from. */
const moduleFolder = join(root, 'tools/kubernetes')

/**
 * The version of Kubernetes that the module pins.
 * @param {string} goMod content of go.mod
 */
export function kubernetesVersion(goMod) {
  const version = /^\s*k8s\.io\/kubernetes v(\d+\.\d+\.\d+)(?: \/\/ indirect)?$/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('tools/kubernetes/go.mod does not require a release of k8s.io/kubernetes')
  return version
}

/**
 * Linker flags: no symbols, and the version that a release build would have. Without them the API server calls itself v0.0.0-master,
 * and clients that look at the version take it for one that has none of the newer features.
 * @param {string} version
 */
export function linkerFlags(version) {
  const [major = '', minor = ''] = version.split('.')
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const stamps = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-s', '-w', ...stamps].join(' ')
}

/**
 * The path of a real API server, built once for all checkouts of this machine.
 * @param {string} [parent] the cache
 */
export async function ensureKubeApiServer(parent = cacheRoot()) {
  const version = kubernetesVersion(readFileSync(join(moduleFolder, 'go.mod'), 'utf8'))
  const name = `kubernetes-${version}-${process.platform}-${process.arch}`
  const binary = join(parent, name, program)
  if (existsSync(binary) && (await versionOf(binary)) === version) return binary
  // Two checkouts that built it at the same time would take twice as long.
  return withLock(join(parent, `${name}.lock`), async () => {
    await removeOther(join(parent, name), version)
    await cachedFolder(name, (folder) => build(join(folder, program), version), parent)
    return binary
  })
}

/**
 * True when there is nothing left to build, so that no compiler is needed.
 * @param {string} [parent] the cache
 */
export function kubeApiServerIsBuilt(parent = cacheRoot()) {
  const version = kubernetesVersion(readFileSync(join(moduleFolder, 'go.mod'), 'utf8'))
  return existsSync(join(parent, `kubernetes-${version}-${process.platform}-${process.arch}`, program))
}

/**
 * @param {string} path of the program to make
 * @param {string} version
 */
async function build(path, version) {
  const obstacle = await goObstacle()
  if (obstacle !== undefined) {
    throw new SetUpError(
      `${program} ${version} is built from source, but ${obstacle}. Install Go (https://go.dev/dl/), or set ` +
        `KUBEBUILDER_ASSETS to a folder that holds ${program} and etcd.`,
    )
  }
  await timed(`Building ${program} ${version} (about 4 minutes on two cores, once on this machine)`, async () => {
    const args = ['build', '-trimpath', '-buildvcs=false', '-mod=readonly', `-ldflags=${linkerFlags(version)}`]
    const { code, stderr } = await run('go', [...args, '-o', path, `k8s.io/kubernetes/cmd/${program}`], {
      cwd: moduleFolder,
      // An older Go fetches the compiler that the module asks for, unless the user has forbidden it.
      env: { CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: process.env.GOTOOLCHAIN ?? 'auto' },
    })
    if (code !== 0) throw new SetUpError(`Could not build ${program} ${version}.`, lastLines(stderr))
  })
  const built = await versionOf(path)
  if (built !== version)
    throw new SetUpError(`${program} ${version} was built, but it calls itself ${built ?? 'nothing'}.`)
}

/**
 * Makes room when what is in the cache is not what belongs there.
 * @param {string} folder
 * @param {string} version
 */
async function removeOther(folder, version) {
  if (!existsSync(folder) || (await versionOf(join(folder, program))) === version) return
  // Renaming first: nobody finds half of a folder.
  const away = `${folder}.replaced-${process.pid}`
  await rename(folder, away)
  await rm(away, { recursive: true, force: true })
}

/** @param {string} binary */
async function versionOf(binary) {
  const { code, stdout } = await run(binary, ['--version'])
  return code === 0 ? /^Kubernetes v(\S+)/.exec(stdout.toString())?.[1] : undefined
}

/** @param {string} text */
function lastLines(text) {
  return text.trimEnd().split('\n').slice(-30).join('\n')
}
