import { join } from 'node:path'
import { root } from './paths.mjs'
import { run } from './process.mjs'
import { typeScriptProjects } from './workspace.mjs'

/**
 * TypeScript 7, which is written in Go, finds what 5.9 finds in a quarter of the time. The linter and typedoc need the
 * interface of 5.9, so both are installed; `.bin/tsc` could be either.
 */
export const compiler = join(root, 'node_modules/typescript-native/bin/tsc')

/**
 * The projects of those given in which the compiler found errors.
 * @param {string} output of tsc with --pretty false
 * @param {readonly string[]} projects folders relative to the root
 */
export function projectsWithErrors(output, projects) {
  const files = [...output.matchAll(/^(.+?)\(\d+,\d+\): error TS\d+:/gm)].map(([, file = '']) => file)
  return projects.filter((project) => files.some((file) => file.startsWith(`${project}/`)))
}

/**
 * Compiles every project, its tests included. Each project is one test: its types hold, or they do not.
 * @returns {Promise<import('./counts.mjs').Counts & { output: string }>}
 */
export async function typeCheck() {
  const projects = typeScriptProjects()
  // Each checker of a project finds out about the libraries again: several take a third more processor time than one, and projects are built side by side anyway.
  const { code, stdout, stderr } = await run(process.execPath, [compiler, '-b', '--checkers', '1', '--pretty', 'false'])
  const output = `${stdout.toString()}${stderr}`
  const wrong = projectsWithErrors(output, projects).length
  // A failure outside of all projects is one in the settings they share.
  const failed = code !== 0 && wrong === 0 ? 1 : wrong
  return { passed: Math.max(0, projects.length - failed), failed, skipped: 0, output }
}
