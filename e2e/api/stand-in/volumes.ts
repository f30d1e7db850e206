import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { resourceTypes } from '@osm-ts/kubernetes'
import type { ApiServer } from '../harness/index.js'
import { fieldOf } from './container-command.js'
import type { Mounts } from './mounts.js'
import type { Container, Pod, ProjectedSource, Volume } from './objects.js'

type Content = Readonly<Record<string, string | Buffer>>

/**
 * Writes the volumes of a pod and gives what each container is to find where. Secrets, ConfigMaps and projected volumes have their files,
 * and a folder of the node is that of this machine; anything else is an empty folder.
 */
export async function writeVolumes(
  pod: Pod,
  folder: string,
  server: ApiServer,
  signal: AbortSignal,
): Promise<(container: Container) => Mounts> {
  const folders = new Map<string, string>()
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.hostPath !== undefined) {
      folders.set(volume.name, volume.hostPath.path)
      continue
    }
    const path = join(folder, volume.name)
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o777)
    folders.set(volume.name, path)
    const content = await contentOf(volume, pod, server, signal)
    for (const [name, text] of Object.entries(content)) writeFileSync(join(path, name), text)
  }
  return ({ volumeMounts = [] }) =>
    new Map(volumeMounts.map(({ name, mountPath }): readonly [string, string] => [mountPath, folders.get(name) ?? '']))
}

async function contentOf(
  { secret, configMap, projected }: Volume,
  pod: Pod,
  server: ApiServer,
  signal: AbortSignal,
): Promise<Content> {
  const sources = (projected?.sources ?? []).map((source) => projectedContent(source, pod, server))
  const parts: readonly Content[] = await Promise.all(sources)
  if (projected !== undefined) return Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
  const type = secret === undefined ? resourceTypes.ConfigMap : resourceTypes.Secret
  const name = secret?.secretName ?? configMap?.name
  if (name === undefined) return {}
  const namespace = pod.metadata.namespace ?? ''
  const object = await server.api.get(type, { namespace, name }, signal)
  if (object === undefined && (secret ?? configMap)?.optional !== true)
    throw new Error(`there is no ${type.kind} ${namespace}/${name}`)
  const data = Object.entries((object?.data ?? {}) as Readonly<Record<string, string>>)
  return Object.fromEntries(
    data.map(([key, value]) => [key, Buffer.from(value, secret === undefined ? 'utf8' : 'base64')]),
  )
}

/** What the API server itself puts into every pod: how to reach it, and as whom. */
async function projectedContent(
  { serviceAccountToken, configMap, downwardAPI }: ProjectedSource,
  pod: Pod,
  server: ApiServer,
): Promise<Content> {
  if (serviceAccountToken !== undefined) {
    const account = { namespace: pod.metadata.namespace ?? '', name: pod.spec.serviceAccountName ?? 'default' }
    return { [serviceAccountToken.path]: await server.tokenFor(account, serviceAccountToken.audience) }
  }
  // The controller manager publishes this one in every namespace.
  if (configMap?.name === 'kube-root-ca.crt') return { 'ca.crt': server.caPem }
  if (configMap !== undefined) throw new Error(`the stand-in projects no ConfigMap such as ${configMap.name}`)
  const items = downwardAPI?.items ?? []
  return Object.fromEntries(items.map(({ path, fieldRef }) => [path, fieldOf(pod, fieldRef.fieldPath)]))
}
