import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Makes this driver as somebody else would: from packed packages, with npm, in a folder outside the repository. Then it has the conformance suite try it.

const example = dirname(dirname(fileURLToPath(import.meta.url)))
const root = dirname(dirname(example))
const own = ['agent', 'src', 'package.json', 'package-lock.json', 'tsconfig.build.json', 'README.md']

/**
 * @param {string} cwd
 * @param {string} command
 * @param {string[]} args
 */
async function run(cwd, command, ...args) {
  const child = spawn(command, args, { cwd, stdio: 'inherit' })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code !== 0) throw new Error(`"${command} ${args.join(' ')}" ended with ${String(code)}`)
}

const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const folder = await mkdtemp(join(tmpdir(), 'osm-driver-haproxy-'))
try {
  // Where the lock file looks for what no registry has.
  const vendor = join(folder, 'vendor')
  await mkdir(vendor)
  const compiler = join(root, 'node_modules/typescript-native/bin/tsc')
  await run(root, process.execPath, compiler, '-b', 'packages/driver-testkit/tsconfig.build.json')
  for (const name of ['driver-api', 'endpoints-api', 'endpoints-local', 'driver-process', 'driver-testkit'])
    await run(join(root, 'packages', name), 'npx', '--yes', packageManager, 'pack', '--pack-destination', vendor)
  for (const name of own) await cp(join(example, name), join(folder, name), { recursive: true })
  await run(folder, 'npm', 'ci', '--no-audit', '--no-fund')
  await run(folder, 'npm', 'run', 'build')
  await run(folder, 'npx', 'driver-testkit', '--driver', folder)
} finally {
  await rm(folder, { recursive: true, force: true })
}
