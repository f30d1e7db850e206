import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { packageIntegrity } from '@osm-ts/driver-process'
import { driverManifest, publishDriver } from '../../../tools/registry/example-driver.mjs'
import { made, npm, npmProject } from '../../../tools/registry/npm-project.mjs'
import { packLibraries } from '../../../tools/registry/packed-packages.mjs'
import { startRegistry } from '../../../tools/registry/verdaccio.mjs'

/** A driver that npm has installed by its name. */
export interface InstalledDriver {
  /** Folder of the package, with everything that it needs. */
  readonly path: string
  readonly integrity: string
  /** Path of the program that runs beside workloads. */
  readonly sidecar: string
}

/**
 * Publishes what drivers are made of to its own registry, builds the driver for HAProxy from there and publishes it as well, and installs that by its name.
 *
 * @param folder - that may be filled, and that users of containers get to
 */
export async function installHaproxyDriver(folder: string): Promise<InstalledDriver> {
  await mkdir(folder, { recursive: true })
  const registry = await startRegistry(await made(folder, 'registry'))
  const { url } = registry
  try {
    const archives = await packLibraries(await made(folder, 'packages'))
    const publisher = await npmProject(folder, 'publisher', url)
    for (const archive of archives) await npm(publisher, 'publish', archive, '--access', 'public')
    const name = await publishDriver({ folder, url })
    const user = await npmProject(folder, 'user', url)
    // Nested: the folder of the driver holds everything that it needs, as a list of drivers wants it.
    await npm(user, 'install', '--install-strategy=nested', name)
    await chmod(folder, 0o755)
    const path = join(user, 'node_modules', name)
    const [program = ''] = Object.values((await driverManifest()).bin)
    return { path, integrity: await packageIntegrity(path), sidecar: join(path, program) }
  } finally {
    await registry.stop()
  }
}
