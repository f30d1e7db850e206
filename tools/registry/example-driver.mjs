import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { npm, npmProject } from './npm-project.mjs'

const driverFolder = 'examples/driver-haproxy'
/** What somebody else would have of that folder. */
const driverSources = ['agent', 'src', 'package.json', 'tsconfig.build.json', 'README.md']

/**
 * Builds the driver for HAProxy from published packages, as somebody else would, and publishes it.
 * @param {{ readonly folder: string, readonly url: string }} bench
 * @returns {Promise<string>} its name
 */
export async function publishDriver({ folder, url }) {
  const place = await npmProject(folder, 'driver-haproxy', url)
  for (const name of driverSources) await cp(join(root, driverFolder, name), join(place, name), { recursive: true })
  await npm(place, 'install')
  await npm(place, 'run', 'build')
  await npm(place, 'publish', '--access', 'public')
  return (await driverManifest()).name
}

/** @returns {Promise<{ name: string, bin: Record<string, string> }>} */
export async function driverManifest() {
  return JSON.parse(await readFile(join(root, driverFolder, 'package.json'), 'utf8'))
}
