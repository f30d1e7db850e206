import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { say } from '../lib/progress.mjs'
import { buildGoPrograms } from './go-build.mjs'
import { goObstacle } from './go.mjs'

const module = join(root, 'tools/collector')

/**
 * The path of an OpenTelemetry Collector, which is built once for all checkouts of this machine. Empty where it cannot be built; tests that send spans to it are then
 * left out.
 */
export async function ensureOtelCollector() {
  const obstacle = await goObstacle()
  if (obstacle !== undefined) {
    say(`tests of traces in an OpenTelemetry Collector are left out: ${obstacle}`)
    return ''
  }
  const key = hashInputs(['go.mod', 'go.sum', 'otel-collector/main.go'].map((name) => readFileSync(join(module, name))))
  const folder = await cachedFolder(`otel-collector-${key}-${process.platform}-${process.arch}`, (partial) =>
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
