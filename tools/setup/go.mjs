import { run } from '../lib/process.mjs'

/** Go of this age or newer fetches by itself the compiler that a module asks for. */
const oldestWithToolchains = { major: 1, minor: 21 }

/**
 * What keeps Go from building the programs of a tools module here, as a sentence; undefined when nothing does.
 * @param {(program: string, args: readonly string[]) => Promise<{ code: number, stdout: Buffer }>} execute
 */
export async function goObstacle(execute = run) {
  const { code, stdout } = await execute('go', ['version'])
  if (code !== 0) return 'there is no Go compiler on the PATH'
  const found = parseGoVersion(stdout.toString())
  if (found === undefined) return `"go version" says "${stdout.toString().trim()}", which names no version`
  const { major, minor } = oldestWithToolchains
  if (found.major > major || (found.major === major && found.minor >= minor)) return undefined
  return `the Go compiler on the PATH is ${found.major}.${found.minor}; ${major}.${minor} or newer is required`
}

/**
 * Reads the version from `go version go1.24.2 linux/amd64`; development versions say `go version devel go1.25-abc …`.
 * @param {string} output
 * @returns {{ readonly major: number, readonly minor: number } | undefined}
 */
export function parseGoVersion(output) {
  const [, major, minor] = /\bgo(\d+)\.(\d+)/.exec(output) ?? []
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) }
}
