import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildGoPrograms } from './go-build.mjs'

/** Go module that pins the conformance suite of the Gateway API and all that it is built from. */
const module = join(root, 'tools/gateway-api')

/**
 * The folder of a suite that was built before: its program `suite`, and the definitions of the standard channel in `crds`. Undefined if there is none.
 * @returns {string | undefined}
 */
export function builtGatewayApiSuite() {
  const folder = join(cacheRoot(), name())
  return existsSync(folder) ? folder : undefined
}

/** Builds the conformance suite of the Gateway API once for all checkouts of this machine. */
export async function ensureGatewayApiSuite() {
  return cachedFolder(name(), async (folder) => {
    await buildGoPrograms({
      what: 'the conformance suite of the Gateway API',
      duration: '5 minutes on two cores',
      instead: `copy ${cacheRoot()} from a machine that has it`,
      module,
      packages: ['./suite'],
      folder,
    })
    const { code, stdout } = await run('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/gateway-api'], {
      cwd: module,
    })
    if (code !== 0) throw new SetUpError('The sources of the Gateway API are not where Go has put them.')
    const definitions = join(stdout.toString().trim(), 'config/crd/standard')
    await mkdir(join(folder, 'crds'))
    for (const file of readdirSync(definitions).filter(isDefinition))
      await copyFile(join(definitions, file), join(folder, 'crds', file))
  })
}

/** @param {string} file false for the policy that keeps these definitions from being changed */
function isDefinition(file) {
  return !file.includes('_vap_')
}

function name() {
  const key = hashInputs(['go.sum', 'suite/main.go'].map((file) => readFileSync(join(module, file))))
  return `gateway-api-${key}-${process.platform}-${process.arch}`
}
