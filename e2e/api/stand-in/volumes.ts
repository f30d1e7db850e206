import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { resourceTypes, type KubernetesApi } from '@osm-ts/core'
import { relocate, type Mounts } from './container-command.js'
import type { Container, Pod, Volume } from './objects.js'

/**
 * Writes the volumes of a pod and gives where each container finds them. Secrets and ConfigMaps have their files; anything else is an
 * empty folder.
 */
export async function writeVolumes(
  pod: Pod,
  folder: string,
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<(container: Container) => Mounts> {
  const folders = new Map<string, string>()
  const files: { readonly volume: string; readonly path: string; readonly content: Buffer }[] = []
  for (const volume of pod.spec.volumes ?? []) {
    const path = join(folder, volume.name)
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o777)
    folders.set(volume.name, path)
    for (const [name, content] of await contentOf(volume, pod, api, signal))
      files.push({ volume: volume.name, path: join(path, name), content })
  }
  const mountsOf = ({ volumeMounts = [] }: Container): Mounts =>
    new Map(
      volumeMounts
        .map(({ name, mountPath }): readonly [string, string] => [mountPath, folders.get(name) ?? mountPath])
        // The longest first: one may lie within another.
        .sort(([a], [b]) => b.length - a.length),
    )
  const { containers, initContainers = [] } = pod.spec
  for (const { volume, path, content } of files) {
    const reader = [...containers, ...initContainers].find(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }) => name === volume),
    )
    // Files name one another by the paths of the container.
    const text = content.toString('latin1')
    writeFileSync(path, Buffer.from(reader === undefined ? text : relocate(text, mountsOf(reader)), 'latin1'))
  }
  return mountsOf
}

async function contentOf(
  { secret, configMap }: Volume,
  pod: Pod,
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<readonly (readonly [string, Buffer])[]> {
  const namespace = pod.metadata.namespace ?? ''
  const type = secret === undefined ? resourceTypes.ConfigMap : resourceTypes.Secret
  const name = secret?.secretName ?? configMap?.name
  if (name === undefined) return []
  const object = await api.get(type, { namespace, name }, signal)
  if (object === undefined && (secret ?? configMap)?.optional !== true)
    throw new Error(`there is no ${type.kind} ${namespace}/${name} yet`)
  const data = (object?.data ?? {}) as Readonly<Record<string, string>>
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, secret === undefined ? 'utf8' : 'base64')])
}
