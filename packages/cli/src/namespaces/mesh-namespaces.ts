import { ignoreLabel, type KubernetesObject, listAll, monitoredByLabel, resourceTypes } from '@osm-ts/kubernetes'
import { injectionAnnotations } from '@osm-ts/injector'

import { cliError } from '../errors.js'
import { findControlPlanes } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'

/** Where namespaces are read and written. */
type Namespaces = Pick<Cluster, 'api' | 'signal'>

/** A namespace of a mesh. */
export interface MeshNamespace {
  readonly namespace: string
  readonly mesh: string
  /** Empty where the namespace says nothing. */
  readonly sidecarInjection: string
}

/**
 * Enrols a namespace in a mesh.
 *
 * @throws OsmError `OSM_CLI_NAMESPACE` where that can't be; KubernetesError
 */
export async function addNamespace(
  cluster: Namespaces,
  name: string,
  { meshName, injection }: { readonly meshName: string; readonly injection: 'enabled' | 'disabled' },
): Promise<void> {
  const { metadata } = await existing(cluster, name)
  const { labels = {} } = metadata
  const { [monitoredByLabel]: other = meshName } = labels
  if (Object.hasOwn(labels, ignoreLabel))
    throw refused(
      `Namespace [${name}] is ignored and cannot be added to mesh [${meshName}]`,
      `remove its label ${ignoreLabel} first, with osm namespace remove ${name} or kubectl label`,
    )
  if (other !== meshName)
    throw refused(
      `Namespace [${name}] belongs to mesh [${other}]`,
      `remove it first: osm namespace remove ${name} --mesh-name ${other}`,
    )
  if ((await findControlPlanes(cluster, name)).length > 0)
    throw refused(
      `Namespace [${name}] contains a control plane and cannot be added to mesh [${meshName}]`,
      'use another namespace for workloads: the pods of the control plane cannot be part of the mesh',
    )
  await patch(cluster, name, {
    labels: { [monitoredByLabel]: meshName },
    annotations: { [injectionAnnotations.injection]: injection },
  })
}

/**
 * Takes a namespace out of a mesh, with everything that commands have written on it.
 *
 * @throws OsmError `OSM_CLI_NAMESPACE` if it is of none or of another; KubernetesError
 */
export async function removeNamespace(cluster: Namespaces, name: string, meshName: string): Promise<void> {
  const { metadata } = await existing(cluster, name)
  const { [monitoredByLabel]: mesh, [ignoreLabel]: ignored } = metadata.labels ?? {}
  if (mesh === undefined && ignored === undefined)
    throw refused(`Namespace [${name}] does not belong to any mesh`, 'see osm namespace list')
  if (mesh !== undefined && mesh !== meshName)
    throw refused(`Namespace [${name}] belongs to mesh [${mesh}], not to mesh [${meshName}]`, `use --mesh-name ${mesh}`)
  await patch(cluster, name, {
    labels: { [monitoredByLabel]: null, [ignoreLabel]: null },
    annotations: { [injectionAnnotations.injection]: null, [injectionAnnotations.metrics]: null },
  })
}

/** Keeps a namespace out of every mesh. */
export async function ignoreNamespace(cluster: Namespaces, name: string): Promise<void> {
  await existing(cluster, name)
  await patch(cluster, name, { labels: { [ignoreLabel]: 'true' } })
}

/** Namespaces of a mesh, or of all. */
export async function listNamespaces(
  { api, signal }: Namespaces,
  meshName: string | undefined,
): Promise<readonly MeshNamespace[]> {
  const labelSelector = meshName === undefined ? monitoredByLabel : `${monitoredByLabel}=${meshName}`
  const found = await listAll(api, resourceTypes.Namespace, { labelSelector, answer: 'metadata' }, signal)
  return found.map(({ metadata: { name, labels = {}, annotations = {} } }) => ({
    namespace: name,
    mesh: labels[monitoredByLabel] ?? '',
    sidecarInjection: annotations[injectionAnnotations.injection] ?? '',
  }))
}

/**
 * The namespace as the API server holds it.
 *
 * @throws OsmError `OSM_CLI_NAMESPACE` if there is none
 */
export async function existing({ api, signal }: Namespaces, name: string): Promise<KubernetesObject> {
  const found = await api.get(resourceTypes.Namespace, { namespace: '', name }, signal, { answer: 'metadata' })
  if (found === undefined) throw refused(`there is no namespace [${name}]`, 'see kubectl get namespaces')
  return found
}

/** Changes labels and annotations of a namespace; null takes one away. */
export async function patch(
  { api, signal }: Namespaces,
  name: string,
  metadata: Readonly<Partial<Record<'labels' | 'annotations', Readonly<Record<string, string | null>>>>>,
): Promise<void> {
  await api.mergePatch(resourceTypes.Namespace, { namespace: '', name }, { metadata }, { signal, answer: 'metadata' })
}

/** A namespace can't do what is asked. */
export function refused(message: string, hint: string): Error {
  return cliError('OSM_CLI_NAMESPACE', message, hint)
}
