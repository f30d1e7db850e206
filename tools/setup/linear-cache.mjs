import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { buildGoPrograms } from './go-build.mjs'

/** Builds go-control-plane with linear caches, which a benchmark measures beside the controller. Gives its path. */
export async function ensureLinearCache() {
  const module = join(root, 'e2e/bench/peers/linear-cache')
  const files = readdirSync(module).sort()
  const key = hashInputs(files.flatMap((name) => [name, readFileSync(join(module, name))]))
  const folder = await cachedFolder(`linear-cache-${key}-${process.platform}-${process.arch}`, (partial) =>
    buildGoPrograms({
      what: 'go-control-plane with linear caches',
      duration: '1 minute on two cores',
      instead: 'leave the benchmark `peers` out',
      module,
      packages: ['.'],
      folder: partial,
    }),
  )
  return join(folder, 'linear-cache')
}
