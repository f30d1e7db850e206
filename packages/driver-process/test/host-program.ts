import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { bundleModule } from '../../../tools/lib/bundle.mjs'

/** The program that serves a package, bundled from the sources into its own folder. */
export async function bundleHostProgram(): Promise<string> {
  const outfile = join(await mkdtemp(join(tmpdir(), 'osm-host-')), 'osm-driver-host.mjs')
  await bundleModule('packages/driver-process/src/driver-host-main.ts', outfile)
  return outfile
}
