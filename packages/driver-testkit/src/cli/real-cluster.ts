import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { optionalFeatures } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { installedMesh, type InstalledMesh } from '../conformance/level-2/installed-mesh.js'
import { Kubectl } from '../conformance/level-2/kubectl.js'
import { Level2 } from '../conformance/level-2/level-2.js'
import { type LoadedDriver, NoDriver } from './load-driver.js'

const compiledApp = fileURLToPath(new URL('../pod-app-main.js', import.meta.url))

/** What level 2 is run with. */
export interface RealClusterOptions {
  readonly loaded: LoadedDriver
  /** Absolute path of the folder that relative paths are looked up from. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** `--kubeconfig` */
  readonly kubeconfig: string | undefined
  /** `--kubectl` */
  readonly kubectl: string
  /** `--osm-namespace` */
  readonly osmNamespace: string
  /** `--sidecar-class` */
  readonly sidecarClass: string | undefined
  /** `--app-image` */
  readonly appImage: string
  /** `--app-node` */
  readonly appNode: string
  /** Module that plays the workloads; that of this package if absent. */
  readonly podApp?: string
}

/** Level 2 on a real cluster, and what a report says of it. */
export interface RealCluster {
  readonly level2: Level2
  readonly mesh: InstalledMesh
  readonly sidecarClass: string
  /** Takes away what was made in the cluster; waits until it is gone unless the run was stopped. */
  readonly close: () => Promise<void>
}

/**
 * Looks up what level 2 needs, and changes nothing.
 *
 * @throws NoDriver if something of it is not there
 */
export async function openRealCluster(options: RealClusterOptions): Promise<RealCluster> {
  const { loaded, folder, environment, signal, osmNamespace, appImage: image, appNode: node } = options
  const { name, capabilities } = loaded.driver
  const kubeconfig = options.kubeconfig === undefined ? undefined : resolve(folder, options.kubeconfig)
  if (kubeconfig !== undefined && !existsSync(kubeconfig))
    throw new NoDriver(`there is no ${options.kubeconfig}, which --kubeconfig names`)
  const program = options.kubectl.includes('/') ? resolve(folder, options.kubectl) : options.kubectl
  const kubectl = new Kubectl(program, environment, kubeconfig)
  const mesh = await installedMesh(kubectl, osmNamespace, { signal }).catch((error: unknown) => {
    const why = errorMessage(error)
    throw new NoDriver(
      `level 2 takes a cluster with the mesh in namespace ${osmNamespace}; --kubeconfig, --kubectl and --osm-namespace say which: ${why}`,
    )
  })
  const sidecarClass = options.sidecarClass ?? name
  if (sidecarClass !== mesh.defaultClass && !mesh.classes.includes(sidecarClass))
    throw new NoDriver(
      `the mesh has no class ${sidecarClass}: load the driver into its control plane, or name another class of it with --sidecar-class; there are ${[...new Set([mesh.defaultClass, ...mesh.classes])].join(', ')}`,
    )
  if (mesh.isPermissive)
    throw new NoDriver(
      `the mesh lets everybody in, so there is nothing to see of policies; kubectl patch meshconfig osm-mesh-config -n ${osmNamespace} --type=merge -p '{"spec":{"traffic":{"enablePermissiveTrafficPolicyMode":false}}}' puts policies in force`,
    )
  const level2 = new Level2({
    kubectl,
    mesh,
    sidecarClass,
    lacks: optionalFeatures.filter((feature) => !capabilities.features.includes(feature)),
    app: { image, node, files: filesOf(options.podApp ?? compiledApp) },
    prefix: `osm-conformance-${randomBytes(3).toString('hex')}`,
  })
  return { level2, mesh, sidecarClass, close: () => level2.close(!signal.aborted) }
}

/** A module and what lies in the folder `actor` beside it, which is all that it imports. */
function filesOf(module: string): ReadonlyMap<string, string> {
  const read = (path: string): string => readFileSync(path, 'utf8')
  const actor = join(dirname(module), 'actor')
  const beside = existsSync(actor) ? readdirSync(actor).filter((file) => file.endsWith('.js')) : []
  return new Map([
    [basename(module), read(module)],
    ...beside.map((file) => [`actor/${file}`, read(join(actor, file))] as const),
    // Node.js takes modules for what they are then.
    ['package.json', JSON.stringify({ type: 'module' })],
  ])
}
