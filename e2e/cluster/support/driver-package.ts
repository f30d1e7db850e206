import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { haproxyDriverFiles, haproxyDriverFolder, haproxyImageName } from '../../../tools/images/haproxy-image.mjs'
import { osmProgram } from '../../api/support/osm-program.js'
import type { SharedCluster } from './shared-cluster.js'

/** A file of a driver package. */
interface PackageFile {
  readonly path: string
  readonly content: Buffer
}

/** As the guide says: what both programs may have, and a driver beside them. */
export const driverMemory = {
  osmController: { resource: { limits: { memory: '1512M' } } },
  injector: { resource: { limits: { memory: '768M' } } },
}

/** What `osm driver inspect` tells anyone who was given the package. */
export async function integrityOf(files: readonly PackageFile[], { kubeconfig }: SharedCluster): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-driver-'))
  try {
    for (const { path, content } of files) await writeFile(join(folder, path), content)
    const { code, stdout, stderr } = await osmProgram({ kubeconfig })('driver', 'inspect', folder, '-o', 'json')
    if (code !== 0) throw new Error(`osm driver inspect failed with ${code}: ${stderr}`)
    return (JSON.parse(stdout) as { readonly integrity: string }).integrity
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Values of a mesh with class haproxy. The image of its sidecar also has the driver, which an init container copies. */
export async function haproxyValues(cluster: SharedCluster): Promise<Readonly<Record<string, unknown>>> {
  const image = cluster.image(haproxyImageName)
  const name = 'haproxy'
  const copy = `fs.cpSync('${haproxyDriverFolder}', '/osm-drivers/${name}', { recursive: true })`
  const initContainer = { image, command: ['/nodejs/bin/node', '-e'], args: [copy] }
  return {
    sidecarDrivers: [{ sidecarName: name, sidecarImage: image, proxyServerPort: 15_200 }],
    driverPackages: [{ name, integrity: await integrityOf(haproxyDriverFiles(), cluster), initContainer }],
    ...driverMemory,
  }
}
