import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachedFolder, hashInputs } from '../lib/cache.mjs'
import { cacheRoot, root } from '../lib/paths.mjs'
import { say } from '../lib/progress.mjs'
import { buildGoPrograms } from './go-build.mjs'

/** Go module that pins SPIRE and all that it is built from. */
const module = join(root, 'tools/spire')

/** Each in a folder of its own: the server takes three times as long as the agent. */
const programs = /** @type {const} */ ({
  'spire-agent': { duration: '3 minutes on two cores', cgo: false },
  // Its store in a file is SQLite, which is C.
  'spire-server': { duration: '10 minutes on two cores', cgo: true },
})

/** @typedef {keyof typeof programs} SpireProgram */

/**
 * Where the programs of a SPIRE are that was built before. Without one, tests of it are left out, and the output says so: the time of a run on a new machine has no room
 * for building it.
 * @returns {Readonly<Record<'SPIRE_AGENT_BIN' | 'SPIRE_SERVER_BIN', string>>}
 */
export function foundSpire() {
  const [agent, server] = [pathOf('spire-agent'), pathOf('spire-server')]
  if (existsSync(agent) && existsSync(server)) return { SPIRE_AGENT_BIN: agent, SPIRE_SERVER_BIN: server }
  say('tests with a real SPIRE are left out: build it by OSM_BUILD_SPIRE=1 node tools/bootstrap.mjs cluster-build')
  return { SPIRE_AGENT_BIN: '', SPIRE_SERVER_BIN: '' }
}

/** Builds SPIRE once for all checkouts of this machine. */
export async function ensureSpire() {
  for (const name of /** @type {readonly SpireProgram[]} */ (['spire-agent', 'spire-server'])) {
    const { duration, cgo } = programs[name]
    await cachedFolder(folderOf(name), (folder) =>
      buildGoPrograms({
        what: `${name} ${version()}`,
        duration,
        instead: `copy ${cacheRoot()} from a machine that has it`,
        module,
        packages: [`github.com/spiffe/spire/cmd/${name}`],
        folder,
        cgo,
      }),
    )
  }
  return cacheRoot()
}

/** @param {SpireProgram} name */
function pathOf(name) {
  return join(cacheRoot(), folderOf(name), name)
}

/** @param {SpireProgram} name */
function folderOf(name) {
  const key = hashInputs(['go.mod', 'go.sum'].map((file) => readFileSync(join(module, file))))
  return `${name}-${key}-${process.platform}-${process.arch}`
}

function version() {
  const found = /^\s*github\.com\/spiffe\/spire v(\S+)/m.exec(readFileSync(join(module, 'go.mod'), 'utf8'))?.[1]
  if (found === undefined) throw new Error('tools/spire/go.mod does not require a release of SPIRE')
  return found
}
