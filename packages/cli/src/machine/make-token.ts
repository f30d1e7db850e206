import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { FolderTokenStore, type MachineGrant, newJoinToken } from '@osm-ts/core'
import { statePaths } from '@osm-ts/standalone'

/** A token that was made. */
export interface MadeToken {
  readonly text: string
  readonly id: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The root by which machines verify the control plane of a mesh on this machine, in PEM. */
export function folderRoot(stateFolder: string): string {
  return readFileSync(join(statePaths(stateFolder).ca, 'control-plane', 'ca.crt'), 'utf8')
}

/** Makes a token for a mesh on this machine, and stores what is kept of it in the state folder of the mesh. */
export async function makeFolderToken(stateFolder: string, grant: MachineGrant, ttlMs: number): Promise<MadeToken> {
  const paths = statePaths(stateFolder)
  const expiresAt = Date.now() + ttlMs
  const root = folderRoot(stateFolder)
  const { text, stored } = newJoinToken(grant, { root, expiresAt })
  await new FolderTokenStore(paths.joinTokens, () => Date.now()).add(stored)
  return { text, id: stored.id, expiresAt }
}
