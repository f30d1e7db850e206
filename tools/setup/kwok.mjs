import { copyFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildGoPrograms } from './go-build.mjs'

const module = join(root, 'tools/kwok')
/** What kwok does with nodes and pods. Without any it ends; the module has them beside its code. */
const stages = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-delete.yaml',
]

/**
 * The program kwok, which takes the place of kubelets, and the files of its stages. They are built once on a machine.
 * @returns {Promise<{ readonly kwok: string, readonly stages: readonly string[] }>}
 */
export async function ensureKwok() {
  const key = hashInputs([...['go.mod', 'go.sum'].map((name) => readFileSync(join(module, name))), ...stages])
  const folder = await cachedFolder(`kwok-${key}-${process.platform}-${process.arch}`, async (partial) => {
    await buildGoPrograms({
      what: 'kwok 0.8',
      duration: '5 minutes on two cores',
      instead: 'leave the benchmark `kwok` out',
      module,
      packages: ['sigs.k8s.io/kwok/cmd/kwok'],
      folder: partial,
    })
    const sources = await sourcesOf('sigs.k8s.io/kwok')
    for (const stage of stages) copyFileSync(join(sources, 'kustomize/stage', stage), join(partial, basename(stage)))
  })
  return { kwok: join(folder, 'kwok'), stages: stages.map((stage) => join(folder, basename(stage))) }
}

/**
 * The folder to which Go has unpacked a module.
 * @param {string} path
 */
async function sourcesOf(path) {
  const { code, stdout, stderr } = await run('go', ['list', '-mod=readonly', '-m', '-f', '{{.Dir}}', path], {
    cwd: module,
    env: { GOFLAGS: '', GOWORK: 'off' },
  })
  if (code !== 0) throw new SetUpError(`Go does not say where the sources of ${path} are.`, stderr)
  return stdout.toString().trim()
}
