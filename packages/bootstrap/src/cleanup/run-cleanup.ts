import { type Clock, pause } from '@osm-ts/core'
import {
  caSecretName,
  type CustomResourceDefinition,
  isKubernetesError,
  type KubernetesApi,
  listAll,
  nameLabel,
  nameValue,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { isForeign } from '../crds/merge-definition.js'
import { meshSelector } from '../mesh-identity.js'
import { describeMesh, installedMeshes } from '../preinstall/installed-meshes.js'

/** What a cleanup is to do. */
export interface CleanupOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  readonly osmNamespace: string
  readonly configName: string
  readonly caBundleSecretName: string
  readonly definitions: readonly CustomResourceDefinition[]
  /** Delete the roots as well: proxies that run trust nothing that comes after. */
  readonly deleteCa: boolean
  /** Delete the definitions as well, and with them every object of their kinds. */
  readonly deleteCrds: boolean
  readonly clock: Clock
  readonly print: (text: string) => void
  readonly signal: AbortSignal
}

const POLL_MS = 500
const TIMEOUT_MS = 60_000

/** Something that is to be deleted. */
interface Doomed {
  readonly type: ResourceType
  readonly namespace: string
  readonly name: string
  /** Absent where the name is enough. */
  readonly uid?: string
}

/**
 * Removes what outlives a control plane and would do harm without it: webhook configurations, which refuse pods that no one
 * answers for, the RoleBindings in namespaces of the mesh, and the Lease of its leader. Says what it leaves and how to remove that.
 *
 * @returns true if all that was to be removed is gone
 */
export async function runCleanup(options: CleanupOptions): Promise<boolean> {
  const { print } = options
  let done = true
  const step = async (what: string, run: () => Promise<void>): Promise<void> => {
    try {
      await run()
    } catch (error) {
      if (options.signal.aborted || !isKubernetesError(error)) throw error
      done = false
      print(`[failed] ${what}: ${error.message} [${error.code}]\n`)
    }
  }
  await untilBootstrapEnded(options)
  for (const type of [resourceTypes.MutatingWebhookConfiguration, resourceTypes.ValidatingWebhookConfiguration]) {
    await step(type.plural, async () => {
      const labelSelector = meshSelector(options.meshName)
      for (const { metadata } of await listAll(options.api, type, { labelSelector }, options.signal)) {
        await remove(options, { type, namespace: '', name: metadata.name, ...(metadata.uid && { uid: metadata.uid }) })
      }
    })
  }
  await step('rolebindings', () => removeRoleBindings(options))
  await step('leases', () => removeLease(options))
  await step('root certificates', () => removeRoots(options))
  await step('CustomResourceDefinitions', () => removeDefinitions(options))
  return done
}

/** A bootstrap that still runs would restore what is removed. */
async function untilBootstrapEnded({
  api,
  meshName,
  osmNamespace,
  clock,
  print,
  signal,
}: CleanupOptions): Promise<void> {
  const labelSelector = `app=osm-bootstrap,${meshSelector(meshName)}`
  const end = clock.now() + TIMEOUT_MS
  try {
    for (;;) {
      const pods = await listAll(api, resourceTypes.Pod, { namespace: osmNamespace, labelSelector }, signal)
      const running = pods.filter(({ status }) => !hasEnded(status))
      if (running.length === 0) return
      if (clock.now() >= end) {
        const names = running.map(({ metadata }) => metadata.name).join(', ')
        print(`[note] ${names} still runs after ${TIMEOUT_MS / 1000} s and may restore what is removed now\n`)
        return
      }
      await pause(clock, POLL_MS, signal)
      signal.throwIfAborted()
    }
  } catch (error) {
    // A role without that right is no reason to leave webhooks behind.
    if (!isKubernetesError(error)) throw error
    print(`[note] cannot see whether osm-bootstrap has ended: ${error.message}\n`)
  }
}

function hasEnded(status: unknown): boolean {
  const phase = (status as { readonly phase?: string } | undefined)?.phase
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Bindings that the leading controller has made, by the roles that it may bind. */
async function removeRoleBindings(options: CleanupOptions): Promise<void> {
  for (const task of ['bootstrap', 'owned', 'egress', 'certificate'])
    await removeBindingsOf(options, `osm-${options.meshName}-${task}-secrets`)
}

async function removeBindingsOf(options: CleanupOptions, name: string): Promise<void> {
  const type = resourceTypes.RoleBinding
  const bindings = await listAll(options.api, type, { fieldSelector: `metadata.name=${name}` }, options.signal)
  for (const { metadata, roleRef } of bindings) {
    if ((roleRef as { readonly name?: string } | undefined)?.name !== name) continue
    const { namespace = '', uid } = metadata
    await remove(options, { type, namespace, name, ...(uid !== undefined && { uid }) })
  }
}

/**
 * What the last leader could not give back: its rights go before it does. A mesh that is installed again would wait for its end. Who held it can do
 * nothing any more.
 */
async function removeLease(options: CleanupOptions): Promise<void> {
  const { osmNamespace: namespace, meshName } = options
  await remove(options, { type: resourceTypes.Lease, namespace, name: `osm-controller-${meshName}` })
}

async function removeRoots(options: CleanupOptions): Promise<void> {
  const { osmNamespace: namespace, caBundleSecretName, deleteCa, print } = options
  const names = (['workload', 'control-plane'] as const).map((authority) => caSecretName(caBundleSecretName, authority))
  if (!deleteCa) {
    print(
      `[left] Secrets ${names.join(', ')}: proxies that run trust these roots, and a mesh that is installed again goes on with them.\n` +
        `  To remove: kubectl delete secret -n ${namespace} ${names.join(' ')}\n`,
    )
    return
  }
  for (const name of names) await remove(options, { type: resourceTypes.Secret, namespace, name })
}

async function removeDefinitions(options: CleanupOptions): Promise<void> {
  const { api, osmNamespace, configName, definitions, deleteCrds, print, signal } = options
  const left = (): void => {
    const config = `MeshConfig ${osmNamespace}/${configName}, policies of all namespaces, and the CustomResourceDefinitions of the mesh`
    print(
      `[left] ${config}: a mesh that is installed again finds them.\n` +
        `  To remove the settings: kubectl delete meshconfig -n ${osmNamespace} ${configName}\n` +
        `  To remove all of it, which deletes every policy of every mesh: kubectl delete crd -l ${nameLabel}=${nameValue}\n`,
    )
  }
  if (!deleteCrds) {
    left()
    return
  }
  const others = (await installedMeshes(api, signal)).filter(({ namespace }) => namespace !== osmNamespace)
  if (others.length > 0) {
    print(`[note] CustomResourceDefinitions are in use by ${others.map(describeMesh).join(', ')} and stay\n`)
    left()
    return
  }
  const type = resourceTypes.CustomResourceDefinition
  for (const { metadata } of definitions) {
    const live = await api.get(type, { namespace: '', name: metadata.name }, signal)
    if (live === undefined) continue
    if (isForeign(live)) print(`[left] ${type.kind} ${metadata.name}: it belongs to another tool\n`)
    else await remove(options, { type, namespace: '', name: metadata.name })
  }
}

async function remove({ api, print, signal }: CleanupOptions, { type, namespace, name, uid }: Doomed): Promise<void> {
  const gone = await api.delete(type, { namespace, name }, { signal, ...(uid !== undefined && { uid }) })
  if (gone) print(`[removed] ${type.kind} ${namespace === '' ? '' : `${namespace}/`}${name}\n`)
}
