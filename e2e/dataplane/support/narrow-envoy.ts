import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { envoyBinary } from './mesh.js'

/** Size of programs of expressions beyond which {@link narrowEnvoy} refuses a route. The mesh takes up to 4,096. */
const LIMIT = 1_000

/** An expression that the mesh takes and {@link narrowEnvoy} refuses. It matches paths below /books/. */
export const tooLargeForEnvoy = '/books/' + Array.from({ length: 10 }, (_, n) => `(x${n}[a-z]{200})?`).join('')

/** A program that runs the real Envoy. */
export interface NarrowEnvoy {
  readonly path: string
  readonly remove: () => Promise<void>
}

/**
 * The real Envoy with a lower limit of expressions than the mesh counts on, as an operator's own image may have: what the catalog takes is never refused by an
 * Envoy as the mesh starts it.
 */
export async function narrowEnvoy(): Promise<NarrowEnvoy> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-envoy-'))
  const path = join(folder, 'envoy')
  // Layers that come later hold.
  const layer = { name: 'narrow', static_layer: { 're2.max_program_size.error_level': LIMIT } }
  const more = JSON.stringify({ layered_runtime: { layers: [layer] } })
  await writeFile(path, `#!/bin/sh\nexec '${envoyBinary()}' "$@" --config-yaml '${more}'\n`)
  await chmod(path, 0o755)
  return { path, remove: () => rm(folder, { recursive: true, force: true }) }
}
