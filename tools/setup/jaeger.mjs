import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { say } from '../lib/progress.mjs'
import { buildGoPrograms } from './go-build.mjs'

const module = join(root, 'tools/jaeger')

/**
 * The path of a Jaeger that was built before on this machine, or is built now because OSM_BUILD_JAEGER=1 asks for it. Empty where there is none: tests that
 * send spans to it are then left out. It is not built unasked, because a machine without the compiled modules takes minutes that the tests do not have.
 */
export async function ensureJaeger() {
  const key = hashInputs(['go.mod', 'go.sum'].map((name) => readFileSync(join(module, name))))
  const name = `jaeger-${key}-${process.platform}-${process.arch}`
  if (process.env.OSM_BUILD_JAEGER !== '1' && !existsSync(join(cacheRoot(), name))) {
    say(
      'tests of traces in a Jaeger are left out: build it by OSM_BUILD_JAEGER=1 npm test -- dataplane e2e/dataplane/jaeger.test.ts',
    )
    return ''
  }
  const folder = await cachedFolder(name, (partial) =>
    buildGoPrograms({
      what: 'Jaeger 1.76',
      duration: 'three minutes on two cores',
      instead: 'leave its tests out',
      module,
      packages: ['github.com/jaegertracing/jaeger/cmd/all-in-one'],
      folder: partial,
    }),
  )
  return join(folder, 'all-in-one')
}
