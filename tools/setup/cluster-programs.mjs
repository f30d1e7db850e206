import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { builtCertManager } from './cert-manager.mjs'
import { debianPackages, installCommand, isDebian } from './debian-packages.mjs'
import { ensureEtcd } from './etcd.mjs'
import { goObstacle } from './go.mjs'
import { buildGoPrograms } from './go-build.mjs'
import { ensureKubernetesPrograms, kubernetesPrograms, kubernetesProgramsAreBuilt } from './kubernetes-programs.mjs'
import { machineObstacle } from './machine-obstacle.mjs'
import { installWithoutService, onPath } from './system-service.mjs'
import { ensureTransparentMode } from './transparent-mode.mjs'

/**
 * @typedef {object} ClusterPrograms
 * @property {string} kubernetes folder of the programs of Kubernetes
 * @property {string} etcd
 * @property {string} containerd
 * @property {string} plugins folder of the CNI plug-ins
 * @property {string} coredns
 * @property {string} pause
 */

/** @typedef {{ containerd?: string | undefined, ctr?: string | undefined, runc?: string | undefined, plugins?: string | undefined }} FoundRuntime */

const purpose = 'cluster'

/** Where packages put the CNI plug-ins: Debian's own, and what most others do. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin']
const plugins = ['host-local', 'loopback', 'portmap', 'ptp']

/**
 * Finds or makes everything that a cluster of this machine runs on.
 * @returns {Promise<ClusterPrograms>}
 */
export async function ensureClusterPrograms() {
  const obstacle = await clusterObstacle()
  if (obstacle !== undefined) throw new SetUpError(`A local cluster is not possible here: ${obstacle}.`)
  const runtime = await ensureContainerRuntime()
  if (builtCertManager() === undefined)
    say(
      'roots rotate without cert-manager in the cluster tier: build it by OSM_BUILD_CERT_MANAGER=1 node tools/bootstrap.mjs cluster-build',
    )
  return {
    ...(await buildClusterPrograms()),
    ...runtime,
    etcd: await ensureEtcd(),
  }
}

/**
 * Those that are built from source, once for all checkouts of this machine.
 * @returns {Promise<Pick<ClusterPrograms, 'kubernetes' | 'coredns' | 'pause'>>}
 */
export async function buildClusterPrograms() {
  return {
    kubernetes: await ensureKubernetesPrograms(kubernetesPrograms),
    coredns: await ensureCoreDns(),
    pause: await ensurePause(),
  }
}

/**
 * What keeps a cluster from running here that set-up can't bring, and what to do about it; undefined when nothing does.
 * @returns {Promise<string | undefined>}
 */
export async function clusterObstacle() {
  if (process.platform !== 'linux') return 'network namespaces exist on Linux only'
  if (process.getuid?.() !== 0) return 'it takes root, for namespaces and containers. Run it by sudo'
  if (!(await ensureTransparentMode())) return 'this environment gives it no network namespaces'
  const environment = await machineObstacle()
  if (environment !== undefined) return environment
  if (kubernetesProgramsAreBuilt(kubernetesPrograms)) return undefined
  const go = await goObstacle()
  return go && `${go}. Install Go (https://go.dev/dl/)`
}

/** @returns {Promise<Pick<ClusterPrograms, 'containerd' | 'plugins'>>} */
async function ensureContainerRuntime() {
  const lacking = packagesLackedBy(await findContainerRuntime())
  if (lacking.length > 0) {
    if (!isDebian())
      throw new SetUpError(`containerd, runc and the CNI plug-ins are needed; on Debian: ${installCommand(lacking)}`)
    await installWithoutService(lacking, 'containerd')
  }
  const found = await findContainerRuntime()
  const still = packagesLackedBy(found)
  const { containerd, plugins: folder } = found
  if (containerd === undefined || folder === undefined || still.length > 0)
    throw new SetUpError(`Debian packages ${still.join(', ')} brought no such programs as nodes need.`)
  return { containerd, plugins: folder }
}

/**
 * The packages to install. Only those whose programs are missing: another containerd, such as that of Docker, would have to give way.
 * @param {FoundRuntime} found
 */
export function packagesLackedBy({ containerd, ctr, runc, plugins: folder }) {
  const lacks = /** @type {Readonly<Record<string, boolean>>} */ ({
    containerd: containerd === undefined || ctr === undefined,
    runc: runc === undefined,
    'containernetworking-plugins': folder === undefined,
  })
  return debianPackages(purpose).filter((name) => lacks[name] ?? false)
}

/** @returns {Promise<FoundRuntime>} */
async function findContainerRuntime() {
  const [containerd, runc, ctr] = await Promise.all(['containerd', 'runc', 'ctr'].map(onPath))
  const folder = pluginFolders.find((path) => plugins.every((name) => existsSync(join(path, name))))
  return { containerd, ctr, runc, plugins: folder }
}

async function ensureCoreDns() {
  const module = join(root, 'tools/coredns')
  const version = /^\s*github\.com\/coredns\/coredns v(\S+)/m.exec(readFileSync(join(module, 'go.mod'), 'utf8'))?.[1]
  if (version === undefined) throw new Error('tools/coredns/go.mod does not require a release of CoreDNS')
  const folder = await cachedFolder(`coredns-${version}-${process.platform}-${process.arch}`, async (partial) => {
    const what = `CoreDNS ${version}`
    const packages = ['github.com/coredns/coredns']
    await buildGoPrograms({
      what,
      duration: '3 minutes on two cores',
      instead: copyHint,
      module,
      packages,
      folder: partial,
    })
    const { stdout } = await run(join(partial, 'coredns'), ['-version'])
    if (!stdout.toString().startsWith(`CoreDNS-${version}\n`))
      throw new SetUpError(`${what} was built, but it calls itself ${stdout.toString().split('\n')[0]}.`)
  })
  return join(folder, 'coredns')
}

async function ensurePause() {
  const module = join(root, 'tools/kubernetes')
  const key = hashInputs([readFileSync(join(module, 'pause/main.go'))])
  const folder = await cachedFolder(`pause-${key}-${process.platform}-${process.arch}`, (partial) =>
    buildGoPrograms({
      what: 'the program that keeps the namespaces of a pod',
      duration: '5 seconds',
      instead: copyHint,
      module,
      packages: ['./pause'],
      folder: partial,
    }),
  )
  return join(folder, 'pause')
}

const copyHint = `copy ${cacheRoot()} from a machine that has it`
