import { runCommand } from './run-command.js'
import { ClusterError, type ImageArchive } from './provider.js'

interface Index {
  readonly manifests?: readonly {
    readonly digest: string
    readonly annotations?: Readonly<Record<string, string>>
  }[]
}

const nameAnnotation = 'io.containerd.image.name'

/** What an archive of one image says of itself. */
export async function readImageArchive(path: string, signal: AbortSignal): Promise<ImageArchive> {
  const index = JSON.parse(await runCommand('tar', ['-xOf', path, 'index.json'], { signal })) as Index
  const [manifest, ...more] = index.manifests ?? []
  const name = manifest?.annotations?.[nameAnnotation]
  if (manifest === undefined || name === undefined || more.length > 0)
    throw new ClusterError(`${path}: expected an OCI layout with one image whose annotation ${nameAnnotation} names it`)
  return { name, digest: manifest.digest, path }
}
