import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import { childEndpoint } from '../host/child-endpoint.js'
import type { DeclaredDriver } from '../host/declaration.js'
import { Generation } from '../host/generation.js'
import { defaultLimits } from '../host/limits.js'
import { DEFAULT_HEAP_MB, DEFAULT_RESIDENT_MB } from './driver-list.js'
import { copyVerified } from './package-integrity.js'

/** What inspecting needs. */
export interface InspectOptions {
  readonly folder: string
  /** Of that folder, by `packageIntegrity`. */
  readonly integrity: string
  /** Bundle of the program that serves a package. */
  readonly program: string
  /** Ours; see `childEndpoint`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/**
 * Loads a driver package as a host would, only to ask it what it is.
 *
 * @throws OsmError with the reason for which a host would refuse it
 */
export async function inspectPackage(options: InspectOptions): Promise<DeclaredDriver> {
  const { folder, integrity, program, environment, signal } = options
  const home = await mkdtemp(join(tmpdir(), 'osm-drivers-'))
  try {
    const copy = join(home, 'package')
    await copyVerified(folder, integrity, copy)
    const name = basename(folder)
    const open = childEndpoint({
      name,
      program,
      folder: copy,
      environment,
      heapMb: DEFAULT_HEAP_MB,
      residentMb: DEFAULT_RESIDENT_MB,
      residentIntervalMs: 1_000,
    })
    const generation = await Generation.open({ name, expected: '' }, await open(signal), defaultLimits, signal)
    await generation.close()
    return generation.declared
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
