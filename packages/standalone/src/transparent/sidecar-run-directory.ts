import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The folder of the sidecars' files in transparent mode. It lies where the sidecars' user gets to, which the state folder may not, and in memory;
 * only root writes to /run, so that no one can have put something else into its place.
 */
function sidecarsHome(stateFolder: string): string {
  return join('/run', `osm-ts-${createHash('sha256').update(stateFolder).digest('hex').slice(0, 16)}`)
}

/** Makes the folder. Others may go through it, but not look into it. */
export function createSidecarRunDirectory(stateFolder: string): string {
  const home = sidecarsHome(stateFolder)
  removeSidecarRunDirectory(stateFolder)
  mkdirSync(home, { mode: 0o711 })
  return home
}

export function removeSidecarRunDirectory(stateFolder: string): void {
  rmSync(sidecarsHome(stateFolder), { recursive: true, force: true })
}

/** True if a mesh in transparent mode has run with this state folder and was killed. */
export function hasSidecarsHome(stateFolder: string): boolean {
  return existsSync(sidecarsHome(stateFolder))
}
