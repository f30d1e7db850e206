import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { outputOption, toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { meshFolder } from './run-options.js'

/** `osm standalone validate <folder>` */
export function addStandaloneValidate(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('validate')
    .description('validate a folder of YAML files without running a mesh')
    .argument('<folder>', 'folder of YAML files')
    .addOption(outputOption())
    .addHelpText('after', '\nThe exit code is 1 if there are errors, and 0 if there are only warnings.')
    .action(async (folder: string, flags: { readonly output: string }) => {
      const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
      const { withShortPlaces } = await import('../spec/short-places.js')
      const { renderProblems } = await import('../spec/render-problems.js')
      const loaded = await loadFolder(meshFolder(context.cwd, folder).folder, standaloneNaming, context.signal)
      const problems = withShortPlaces(loaded.problems, context.cwd)
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(problems) : toText(renderProblems(problems, color)))
      onExit(problems.some(({ severity }) => severity === 'error') ? exitCodes.problem : exitCodes.ok)
    })
}
