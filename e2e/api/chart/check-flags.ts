import { spawnSync } from 'node:child_process'

import { root } from '../../../tools/lib/paths.mjs'
import { programs } from '../../../tools/programs.mjs'

/**
 * The error code with which a program ends that is started with a command line, but with nowhere to go: it reads its flags first, so
 * that any code but the one of flags says that it took them.
 */
export function codeOfStart(program: string, args: readonly string[]): string {
  const bundle = programs[program]?.bundle
  if (bundle === undefined) throw new Error(`no bundle of ${program}`)
  const { stderr } = spawnSync(process.execPath, [bundle, ...args, '--kubeconfig=/nonexistent/kubeconfig'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    env: {},
  })
  const lines = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { readonly code?: string; readonly message: string })
  const fatal = lines.find(({ code }) => code !== undefined)
  if (fatal?.code === undefined) throw new Error(`${program} did not say why it ended: ${stderr}`)
  return fatal.code === 'OSM_PROGRAM_FLAG' ? `${fatal.code}: ${fatal.message}` : fatal.code
}
