import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { say } from '../lib/progress.mjs'
import { buildGoPrograms } from './go-build.mjs'

const module = join(root, 'tools/collector')

/**
 * The path of an OpenTelemetry Collector that was built before on this machine, or is built now because OSM_BUILD_COLLECTOR=1 asks for it. Empty where there is none: tests that
 * send spans to it are then left out. It is not built unasked, because a machine without the compiled modules takes minutes that the tests do not have.
 */
export async function ensureOtelCollector() {
  const key = hashInputs(['go.mod', 'go.sum', 'otel-collector/main.go'].map((name) => readFileSync(join(module, name))))
  const name = `otel-collector-${key}-${process.platform}-${process.arch}`
  if (process.env.OSM_BUILD_COLLECTOR !== '1' && !existsSync(join(cacheRoot(), name))) {
    say(
      'tests of traces in an OpenTelemetry Collector are left out: build it by OSM_BUILD_COLLECTOR=1 npm test -- dataplane e2e/dataplane/traces.test.ts',
    )
    return ''
  }
  const folder = await cachedFolder(name, (partial) =>
    buildGoPrograms({
      what: 'an OpenTelemetry Collector',
      duration: 'two minutes on two cores',
      instead: 'leave its tests out',
      module,
      packages: ['./otel-collector'],
      folder: partial,
    }),
  )
  return join(folder, 'otel-collector')
}
