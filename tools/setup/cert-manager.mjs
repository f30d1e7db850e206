import { existsSync, readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildGoPrograms } from './go-build.mjs'

/** Go module that pins cert-manager and all that it is built from. */
const module = join(root, 'tools/cert-manager')

/**
 * The folder of a cert-manager that was built before: its program `signer`, and its CustomResourceDefinitions in `crds`. Undefined if there is none.
 * @returns {string | undefined}
 */
export function builtCertManager() {
  const folder = join(cacheRoot(), name())
  return existsSync(folder) ? folder : undefined
}

/** Builds a cert-manager once for all checkouts of this machine. */
export async function ensureCertManager() {
  return cachedFolder(name(), async (folder) => {
    await buildGoPrograms({
      what: `cert-manager ${version()}`,
      duration: '3 minutes on two cores',
      instead: `copy ${cacheRoot()} from a machine that has it`,
      module,
      packages: ['./signer'],
      folder,
    })
    const { code, stdout } = await run('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/cert-manager/cert-manager'], {
      cwd: module,
    })
    if (code !== 0) throw new SetUpError('The sources of cert-manager are not where Go has put them.')
    await cp(join(stdout.toString().trim(), 'deploy/crds'), join(folder, 'crds'), { recursive: true })
  })
}

function name() {
  const key = hashInputs([readFileSync(join(module, 'go.sum')), readFileSync(join(module, 'signer/main.go'))])
  return `cert-manager-${key}-${process.platform}-${process.arch}`
}

function version() {
  const goMod = readFileSync(join(module, 'go.mod'), 'utf8')
  const found = /^(?:require |\s+)github\.com\/cert-manager\/cert-manager v(\S+)/m.exec(goMod)?.[1]
  if (found === undefined) throw new Error('tools/cert-manager/go.mod does not require a release of cert-manager')
  return found
}
