import type { Command } from 'commander'
import { formatObjectRef, type Problem } from '@osm-ts/core'

import { wantsColor } from '../cli-context.js'
import { exitCodes } from '../exit-code.js'
import { outputOption, toJson } from '../output/format.js'
import { renderSpans, span } from '../output/style.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshFolder } from './run-options.js'

/** `osm standalone validate <folder>` */
export function addStandaloneValidate(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('validate')
    .description('find what is wrong with a folder of YAML, without starting anything')
    .argument('<folder>', 'folder of YAML files')
    .addOption(outputOption())
    .addHelpText('after', '\nThe exit code is 1 if there are errors; warnings alone leave it at 0.')
    .action(async (folder: string, flags: { readonly output: string }) => {
      const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
      const { withShortPlaces } = await import('../spec/short-places.js')
      const loaded = await loadFolder(meshFolder(context.cwd, folder).folder, standaloneNaming, context.signal)
      const problems = withShortPlaces(loaded.problems, context.cwd)
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(problems) : toText(renderProblems(problems, color)))
      onExit(problems.some(({ severity }) => severity === 'error') ? exitCodes.problem : exitCodes.ok)
    })
}

/** Problems with all that helps to find them, and their count. */
function renderProblems(problems: readonly Problem[], color: boolean): readonly string[] {
  const count = (severity: Problem['severity']): string => {
    const found = problems.filter((problem) => problem.severity === severity).length
    return `${found} ${severity}${found === 1 ? '' : 's'}`
  }
  return [...problems.flatMap((problem) => problemLines(problem, color)), `${count('error')}, ${count('warning')}`]
}

function problemLines({ origin, severity, code, object, field, message }: Problem, color: boolean): readonly string[] {
  const place = origin?.kind === 'file' ? `${origin.file}:${origin.line}:${origin.column}: ` : ''
  const subject = [object && formatObjectRef(object), field].filter(Boolean).join(': ')
  return [
    renderSpans(
      [
        span(place, 'bold'),
        span(severity, severity === 'error' ? 'bad' : 'warn'),
        span(` ${code}`),
        span(subject === '' ? '' : `  ${subject}`),
      ],
      color,
    ),
    renderSpans([span(`  ${message}`)], color),
  ]
}
