import { fileURLToPath } from 'node:url'

/** Starts a program of the corpus, and takes its arguments. */
type Launcher = (...args: readonly string[]) => readonly string[]

/**
 * Paths of the programs of the corpus, by the names of tools/setup/traffic-programs.mjs, which brings them.
 */
export function programPath(name: string): string {
  const found = process.env.OSM_TRAFFIC_PROGRAMS
  if (found === undefined)
    throw new Error(
      'OSM_TRAFFIC_PROGRAMS names no programs; run the tests by `npm run test:traffic`, which brings them',
    )
  const path = (JSON.parse(found) as Readonly<Record<string, string>>)[name]
  if (path === undefined) throw new Error(`set-up brings no program ${name}: see tools/setup/traffic-programs.mjs`)
  return path
}

function appPath(name: string): string {
  return fileURLToPath(new URL(`../apps/${name}`, import.meta.url))
}

/** A script of `apps` with the interpreter that runs it. */
export function script(interpreter: 'node' | 'perl' | 'python', name: string): Launcher {
  return (...args) => [programPath(interpreter), appPath(name), ...args]
}

/** A class of the programs in Java, with a virtual machine that starts fast. */
export function javaClass(name: string, ...options: readonly string[]): Launcher {
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...options, '-cp']
  return (...args) => [programPath('java'), ...flags, programPath('classPath'), name, ...args]
}
