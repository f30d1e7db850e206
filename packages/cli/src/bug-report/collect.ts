import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isRecord } from '@osm-ts/driver-api/toolkit'
import { findSidecarContainer, type MountingContainer, type MountingPod, proxyUuidLabel } from '@osm-ts/kubernetes'

import { podsOfProgram, controlPlanePrograms, type ControlPlane } from '../kubernetes/control-planes.js'
import { getAdminPage } from '../kubernetes/pod-admin.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import type { DebugApi } from '../state/debug-api.js'
import type { FoundMesh } from '../state/find-mesh.js'
import { redactObject } from './redact.js'
import type { ReportArchive } from './report-archive.js'

const ADMIN_PAGES = ['config_dump', 'ready', 'stats', 'clusters', 'listeners', 'certs'] as const
const LOG_LINES = 2000
const LOG_BYTES = 2_000_000
/** Most objects of a list; a report is not a backup. */
const LIST_LIMIT = 500
const INIT_CONTAINER = 'osm-init'

/** What of a cluster goes into a report, beside the control plane. */
export interface ReportScope {
  readonly namespaces: readonly string[]
  /** `<namespace>/<pod>` */
  readonly pods: readonly string[]
  /** `<namespace>/<deployment>` */
  readonly deployments: readonly string[]
  readonly ingress: boolean
}

/** Adds what the controller says of the mesh. */
export async function collectDebugPages(archive: ReportArchive, openApi: () => Promise<DebugApi>): Promise<void> {
  const pages = {
    problems: (api: DebugApi) => api.problems(),
    'proxy-status': (api: DebugApi) => api.statuses(),
    refused: (api: DebugApi) => api.refused(),
    participants: (api: DebugApi) => api.participation(),
    certificates: (api: DebugApi) => api.certificates(),
    drivers: (api: DebugApi) => api.drivers(),
  }
  for (const [name, get] of Object.entries(pages))
    await archive.add(`controller/${name}.yaml`, `debug server of the controller: ${name}`, async () =>
      get(await openApi()),
    )
}

/** Adds the folder and the logs of a mesh of this machine. */
export async function collectLocal(archive: ReportArchive, { folder, stateFolder }: FoundMesh): Promise<void> {
  for (const [name, directory, pattern] of [
    ['mesh', folder, /\.(?:ya?ml|json)$/],
    ['logs', join(stateFolder, 'logs'), /\.log$/],
  ] as const) {
    let files: readonly string[] = []
    await archive.add(`${name}/files.txt`, `files of ${directory}`, async () => {
      files = (await readdir(directory, { recursive: true })).filter((file) => pattern.test(file)).sort()
      return files.map((file) => `${file}\n`).join('') || 'none\n'
    })
    for (const file of files.slice(0, LIST_LIMIT))
      await archive.add(`${name}/${file}`, join(directory, file), async () => {
        const text = await readFile(join(directory, file), 'utf8')
        return name === 'mesh' ? withoutSecretData(text) : text
      })
  }
}

/** The text as it was written, unless it holds a Secret: then its objects are written again without the data. */
async function withoutSecretData(text: string): Promise<string> {
  // An escape may stand for any letter of the word.
  if (!text.includes('Secret') && !text.includes('\\')) return text
  const { parseAllDocuments, stringify } = await import('../output/yaml-library.js')
  const documents = parseAllDocuments(text, { stringKeys: true })
  const [fault] = documents.flatMap(({ errors }) => errors)
  if (fault !== undefined) throw new Error(`left out: it may hold a Secret and is not valid YAML: ${fault.code}`)
  return documents.map((document) => stringify(redactObject(document.toJS({ maxAliasCount: 100 })))).join('---\n')
}

/** Adds the objects and logs of a control plane, and those of the workloads that are asked for. */
export async function collectCluster(
  archive: ReportArchive,
  cluster: Cluster,
  plane: ControlPlane,
  scope: ReportScope,
): Promise<void> {
  const { api, signal } = cluster
  const add = (file: string, path: string): Promise<void> =>
    archive.add(file, `GET ${path}`, () => api.read(path, signal))
  await add('version.yaml', '/version')
  const osm = `namespaces/${plane.namespace}`
  await namespaceObjects(plane.namespace)
  await add(`${osm}/commands/deployments.yaml`, `/apis/apps/v1/${osm}/deployments?limit=${LIST_LIMIT}`)
  await add(
    `${osm}/commands/meshconfigs.yaml`,
    `/apis/config.openservicemesh.io/v1alpha2/${osm}/meshconfigs?limit=${LIST_LIMIT}`,
  )
  await add(
    `${osm}/commands/meshrootcertificates.yaml`,
    `/apis/config.openservicemesh.io/v1alpha2/${osm}/meshrootcertificates?limit=${LIST_LIMIT}`,
  )
  for (const program of controlPlanePrograms)
    for (const { name } of await quietly(podsOfProgram(cluster, plane.namespace, program)))
      await podFiles(plane.namespace, name, containersOf)
  for (const namespace of scope.namespaces) {
    await namespaceObjects(namespace)
    for (const name of await podNames(namespace)) await meshedPod(namespace, name)
    if (scope.ingress) await ingressObjects(namespace)
  }
  for (const pod of scope.pods) {
    const [namespace = '', name = ''] = pod.split('/')
    await meshedPod(namespace, name)
  }
  for (const deployment of scope.deployments) {
    const [namespace = '', name = ''] = deployment.split('/')
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${encodeURIComponent(name)}`
    await add(`namespaces/${namespace}/commands/deployment_${name}.yaml`, path)
    for (const pod of await podNames(namespace, await selectorOf(path))) await meshedPod(namespace, pod)
  }

  async function namespaceObjects(namespace: string): Promise<void> {
    const here = `namespaces/${namespace}`
    for (const kind of ['pods', 'services', 'events'])
      await add(`${here}/commands/${kind}.yaml`, `/api/v1/${here}/${kind}?limit=${LIST_LIMIT}`)
    await add(
      `${here}/commands/endpointslices.yaml`,
      `/apis/discovery.k8s.io/v1/${here}/endpointslices?limit=${LIST_LIMIT}`,
    )
    await archive.add(`${here}/commands/secret_names.txt`, `names of Secrets of ${namespace}`, async () =>
      itemsOf(await api.read(`/api/v1/${here}/secrets?limit=${LIST_LIMIT}`, signal))
        .map((secret) => `${nameOf(secret)}\n`)
        .join(''),
    )
  }

  async function ingressObjects(namespace: string): Promise<void> {
    const here = `namespaces/${namespace}`
    await add(`${here}/ingresses/ingresses.yaml`, `/apis/networking.k8s.io/v1/${here}/ingresses?limit=${LIST_LIMIT}`)
    await add(
      `${here}/ingressbackends/ingressbackends.yaml`,
      `/apis/policy.openservicemesh.io/v1alpha1/${here}/ingressbackends?limit=${LIST_LIMIT}`,
    )
  }

  async function meshedPod(namespace: string, name: string): Promise<void> {
    await podFiles(namespace, name, meshContainersOf)
    for (const page of ADMIN_PAGES)
      await archive.add(
        `namespaces/${namespace}/pods/${name}/commands/osm_proxy_get_${page}.txt`,
        `osm proxy get ${page} ${namespace}/${name}`,
        async () => (await getAdminPage(cluster, { namespace, name }, page)).body,
      )
  }

  /** The pod, and logs of those of its containers that belong to the mesh: what an application writes is its own business. */
  async function podFiles(
    namespace: string,
    name: string,
    containersToRead: (pod: unknown) => readonly string[],
  ): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(name)}`
    const here = `namespaces/${namespace}/pods/${name}/commands`
    let pod: unknown
    await archive.add(`${here}/pod.yaml`, `GET ${path}`, async () => (pod = await api.read(path, signal)))
    for (const container of containersToRead(pod))
      for (const previous of [false, true]) {
        if (previous && !hasRestarted(pod, container)) continue
        const log = `${path}/log?container=${encodeURIComponent(container)}&tailLines=${LOG_LINES}&limitBytes=${LOG_BYTES}&previous=${String(previous)}`
        await archive.add(`${here}/logs_${container}${previous ? '_previous' : ''}.txt`, `GET ${log}`, async () => {
          const text = await api.read(log, signal)
          return typeof text === 'string' ? text : JSON.stringify(text)
        })
      }
  }

  async function podNames(namespace: string, selector = ''): Promise<readonly string[]> {
    const query = `limit=${LIST_LIMIT}&labelSelector=${encodeURIComponent(selector)}`
    const pods = await quietly(api.read(`/api/v1/namespaces/${namespace}/pods?${query}`, signal).then(itemsOf))
    return pods.map(nameOf)
  }

  async function selectorOf(path: string): Promise<string> {
    const [deployment] = await quietly(api.read(path, signal).then((object) => [object]))
    const spec = isRecord(deployment) && isRecord(deployment['spec']) ? deployment['spec'] : {}
    const labels = isRecord(spec['selector']) ? spec['selector']['matchLabels'] : undefined
    // Nothing has this label: a Deployment that cannot be read has no pods.
    if (!isRecord(labels)) return 'openservicemesh.io/none=none'
    return Object.entries(labels)
      .map(([key, value]) => `${key}=${String(value)}`)
      .join(',')
  }

  /** A list, or nothing: that it cannot be read is listed with the file of the same request. */
  async function quietly<T>(asked: Promise<readonly T[]>): Promise<readonly T[]> {
    try {
      return await asked
    } catch {
      signal.throwIfAborted()
      return []
    }
  }
}

function itemsOf(list: unknown): readonly unknown[] {
  return isRecord(list) && Array.isArray(list['items']) ? list['items'] : []
}

function nameOf(object: unknown): string {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  return typeof metadata['name'] === 'string' ? metadata['name'] : ''
}

function containersOf(pod: unknown): readonly string[] {
  const spec = isRecord(pod) && isRecord(pod['spec']) ? pod['spec'] : {}
  return ['initContainers', 'containers'].flatMap((list) => {
    const containers = spec[list]
    return Array.isArray(containers)
      ? containers.flatMap((container: unknown) => (isRecord(container) ? [String(container['name'])] : []))
      : []
  })
}

/** The sidecar, and the container that intercepts traffic. */
function meshContainersOf(pod: unknown): readonly string[] {
  const { metadata, spec } = isRecord(pod) ? pod : {}
  const labels = isRecord(metadata) && isRecord(metadata['labels']) ? metadata['labels'] : {}
  const uuid = labels[proxyUuidLabel]
  if (typeof uuid !== 'string' || !isRecord(spec)) return []
  const sidecar = findSidecarContainer(spec as MountingPod<MountingContainer>, uuid)?.name // as the API server answers
  return containersOf(pod).filter((name) => name === sidecar || name === INIT_CONTAINER)
}

function hasRestarted(pod: unknown, container: string): boolean {
  const status = isRecord(pod) && isRecord(pod['status']) ? pod['status'] : {}
  return ['initContainerStatuses', 'containerStatuses'].some((list) => {
    const statuses = status[list]
    return (
      Array.isArray(statuses) &&
      statuses.some((each: unknown) => isRecord(each) && each['name'] === container && Number(each['restartCount']) > 0)
    )
  })
}
