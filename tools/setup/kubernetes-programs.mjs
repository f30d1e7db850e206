import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withLock } from '../lib/lock.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildGoPrograms } from './go-build.mjs'

/** @typedef {'kube-apiserver' | 'kube-controller-manager' | 'kube-proxy' | 'kube-scheduler' | 'kubelet'} KubernetesProgram */

/**
 * What a cluster consists of, besides etcd and what runs containers.
 * @type {readonly KubernetesProgram[]}
 */
export const kubernetesPrograms = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubelet',
]

/** Go module that pins Kubernetes and all that it is built from. */
const module = join(root, 'tools/kubernetes')

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
 * Linker flags: no symbols, and the version that a release build would have. Without them the programs call themselves v0.0.0-master,
 * and clients that look at the version take the API server for one that has none of the newer features.
 * @param {string} version
 */
export function linkerFlags(version) {
  const [major = '', minor = ''] = version.split('.')
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const stamps = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-s', '-w', ...stamps].join(' ')
}

/**
 * The folder of real programs of Kubernetes, built once for all checkouts of this machine. Those that are there already stay.
 * @param {readonly KubernetesProgram[]} names
 * @param {string} [parent] the cache
 */
export async function ensureKubernetesPrograms(names, parent = cacheRoot()) {
  const { folder, version } = cachedPrograms(parent)
  if ((await missing(names, folder, version)).length === 0) return folder
  // Two checkouts that built them at the same time would take twice as long.
  return withLock(`${folder}.lock`, async () => {
    const absent = await missing(names, folder, version)
    if (absent.length > 0) await build(absent, folder, version)
    return folder
  })
}

/**
 * True when there is nothing left to build, so that no compiler is needed.
 * @param {readonly KubernetesProgram[]} names
 * @param {string} [parent] the cache
 */
export function kubernetesProgramsAreBuilt(names, parent = cacheRoot()) {
  const { folder } = cachedPrograms(parent)
  return names.every((name) => existsSync(join(folder, name)))
}

/** @param {string} parent */
function cachedPrograms(parent) {
  const version = kubernetesVersion(readFileSync(join(module, 'go.mod'), 'utf8'))
  return { folder: join(parent, `kubernetes-${version}-${process.platform}-${process.arch}`), version }
}

/**
 * @param {readonly KubernetesProgram[]} names
 * @param {string} folder
 * @param {string} version
 */
async function missing(names, folder, version) {
  const versions = await Promise.all(names.map((name) => versionOf(join(folder, name))))
  return names.filter((_, index) => versions[index] !== version)
}

/**
 * @param {readonly KubernetesProgram[]} names
 * @param {string} folder where they belong
 * @param {string} version
 */
async function build(names, folder, version) {
  await mkdir(folder, { recursive: true })
  // Beside their place, so that moving them there is one step and no one ever sees half of one.
  const partial = await mkdtemp(`${folder}.partial-`)
  try {
    await buildGoPrograms({
      what: `${names.join(', ')} ${version}`,
      duration: names.length > 1 ? '10 minutes on two cores' : '4 minutes on two cores',
      instead:
        names.length > 1
          ? `copy ${folder} from a machine that has it`
          : 'set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver and etcd',
      module,
      packages: names.map((name) => `k8s.io/kubernetes/cmd/${name}`),
      folder: partial,
      linkerFlags: linkerFlags(version),
    })
    for (const name of names) {
      const built = await versionOf(join(partial, name))
      if (built !== version)
        throw new SetUpError(`${name} ${version} was built, but it calls itself ${built ?? 'nothing'}.`)
      await rename(join(partial, name), join(folder, name))
    }
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

/** @param {string} binary */
async function versionOf(binary) {
  if (!existsSync(binary)) return undefined
  const { code, stdout } = await run(binary, ['--version'])
  return code === 0 ? /^Kubernetes v(\S+)/.exec(stdout.toString())?.[1] : undefined
}
