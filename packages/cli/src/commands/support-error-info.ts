import { Argument, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

interface ErrorMeaning {
  readonly code: string
  readonly description: string
}

/** `osm support error-info [code]` */
export function addErrorInfo(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('error-info')
    .description('explain one error code, or list all error codes')
    .addArgument(new Argument('[code]', 'code of an error, such as OSM_CLI_USAGE'))
    .addOption(outputOption())
    .action(async (code: string | undefined, { output }: { readonly output: string }) => {
      const { errorMeanings } = await import('../support/error-meanings.js')
      const all = Object.entries(errorMeanings).map(([known, description]) => ({ code: known, description }))
      const chosen = code === undefined ? all : [withCode(all, code)]
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(output === 'json' ? toJson(chosen) : toText(table(chosen, color)))
      onExit(exitCodes.ok)
    })
}

function withCode(all: readonly ErrorMeaning[], wanted: string): ErrorMeaning {
  const found = all.find(({ code }) => code === wanted.toUpperCase())
  if (found !== undefined) return found
  throw cliError(
    'OSM_CLI_ERROR_CODE',
    `there is no error code ${JSON.stringify(wanted)}`,
    /^E\d{4}$/i.test(wanted)
      ? 'this is a code of Open Service Mesh; codes of this version have the form OSM_<AREA>_<WHAT>, and osm support error-info lists all'
      : 'codes have the form OSM_<AREA>_<WHAT>; osm support error-info lists all',
  )
}

function table(rows: readonly ErrorMeaning[], color: boolean): readonly string[] {
  return renderTable(
    [{ title: 'Error code' }, { title: 'Description' }],
    rows.map(({ code, description }) => [span(code), span(description)]),
    { color },
  )
}
