import { resolve } from 'node:path'

import type { Command } from 'commander'
import { isOsmError } from '@osm-ts/driver-api'
import type { DeclaredDriver } from '@osm-ts/driver-process'

import { exitCodes } from '../exit-code.js'
import { findDriverHost } from '../find-programs.js'
import { outputOption, toJson } from '../output/format.js'
import { toText, type CommandHost } from './cli-command.js'

/** What was found out about a package. */
type Inspection = { readonly integrity: string } & (
  { readonly driver: DeclaredDriver } | { readonly refused: { readonly code: string; readonly message: string } }
)

/** `osm driver inspect <folder>` */
export function addDriverInspect(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('inspect')
    .description(
      'load a driver package as a host would, and tell its digest and what it declares, or why it is refused',
    )
    .argument('<folder>', 'folder of the package, with everything that it needs')
    .addOption(outputOption(['text', 'json']))
    .addHelpText(
      'after',
      `
The package runs in a process of its own, with the bounds on memory and time of a host, and only says what it is: neither patch nor start is called.
Its digest is the integrity of the package in a list of drivers. Ends with 1 if a host would refuse the package.`,
    )
    .action(async (given: string, { output }: { readonly output: string }) => {
      const { inspectPackage, packageIntegrity } = await import('@osm-ts/driver-process')
      const folder = resolve(context.cwd, given)
      const program = findDriverHost(context.programFolder)
      const integrity = await packageIntegrity(folder)
      const { variables: environment, signal } = context
      const inspection: Inspection = await inspectPackage({ folder, integrity, program, environment, signal }).then(
        (driver) => ({ integrity, driver }),
        (error: unknown) => {
          if (!isOsmError(error) || signal.aborted) throw error
          return { integrity, refused: { code: error.code, message: error.message } }
        },
      )
      context.stdout.write(output === 'json' ? toJson(inspection) : toText(lines(inspection)))
      onExit('driver' in inspection ? exitCodes.ok : exitCodes.problem)
    })
}

function lines(inspection: Inspection): readonly string[] {
  const digest = `integrity      ${inspection.integrity}`
  if ('refused' in inspection) {
    const { code, message } = inspection.refused
    return [digest, `refused        ${code}: ${message}`]
  }
  const { name, contract, version, capabilities } = inspection.driver
  return [
    digest,
    `class          ${name}`,
    `version        ${version === '' ? '-' : version}`,
    `contract       ${contract}`,
    'capabilities',
    ...Object.entries(capabilities).map(([capability, value]) => `  ${capability.padEnd(18)} ${shown(value)}`),
  ]
}

function shown(value: unknown): string {
  if (!Array.isArray(value)) return String(value)
  return value.length === 0 ? '-' : value.join(', ')
}
