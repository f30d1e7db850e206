import { localBin } from './paths.mjs'
import { run } from './process.mjs'
import { typeScriptProjects } from './workspace.mjs'

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
  const { code, stdout, stderr } = await run(localBin('tsc'), ['-b', '--pretty', 'false'])
  const output = `${stdout.toString()}${stderr}`
  const wrong = projectsWithErrors(output, projects).length
  // A failure outside of all projects is one in the settings they share.
  const failed = code !== 0 && wrong === 0 ? 1 : wrong
  return { passed: Math.max(0, projects.length - failed), failed, skipped: 0, output }
}
