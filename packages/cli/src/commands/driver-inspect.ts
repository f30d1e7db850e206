import { resolve } from 'node:path'

import type { Command } from 'commander'
import { isOsmError } from '@osm-ts/driver-api'
import { describeContracts } from '@osm-ts/driver-api/host'
import type { DeclaredDriver, PackageManifest } from '@osm-ts/driver-process'

import { findDriverHost } from '../find-programs.js'
import { outputOption, toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

/** Why a host would refuse a package. */
interface Refused {
  readonly refused: { readonly code: string; readonly message: string }
}

/** What was found out about a package: from its files alone, unless it was run. */
type Inspection = { readonly integrity: string; readonly package?: PackageManifest } & (
  { readonly driver?: DeclaredDriver } | Refused
)

/** `osm driver inspect <folder>` */
export function addDriverInspect(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('inspect')
    .description(
      'show the name, version, entry and digest of a driver package; with --run, run it to show the declarations of the driver',
    )
    .argument('<folder>', 'folder of the package with all its dependencies')
    .option('--run', 'run the package to show the capabilities of the driver')
    .addOption(outputOption(['text', 'json']))
    .addHelpText(
      'after',
      `
Without --run, only files are read. The digest is the value of integrity in a list of drivers. Compare it with the published digest before
you use --run. With --run, the package runs in a separate process with your permissions and with the memory and time limits of a host; patch
and start are not called. The exit code is 1 if a host would refuse the package.`,
    )
    .action(async (given: string, { output, run = false }: { readonly output: string; readonly run?: boolean }) => {
      const { inspectPackage, packageIntegrity, readPackageManifest } = await import('@osm-ts/driver-process')
      const folder = resolve(context.cwd, given)
      const integrity = await packageIntegrity(folder)
      const { variables: environment, signal } = context
      const refusal = (error: unknown): Refused => {
        if (!isOsmError(error) || signal.aborted) throw error
        return { refused: { code: error.code, message: error.message } }
      }
      const inspect = async (): Promise<Inspection> => {
        const manifest = await readPackageManifest(folder).then((read) => ({ package: read }), refusal)
        if (!run || 'refused' in manifest) return { integrity, ...manifest }
        const program = findDriverHost(context.programFolder)
        const declared = await inspectPackage({ folder, integrity, program, environment, signal }).then(
          (driver) => ({ driver }),
          refusal,
        )
        return { integrity, ...manifest, ...declared }
      }
      const inspection = await inspect()
      context.stdout.write(output === 'json' ? toJson(inspection) : toText(lines(inspection)))
      onExit('refused' in inspection ? exitCodes.problem : exitCodes.ok)
    })
}

function lines(inspection: Inspection): readonly string[] {
  const found = [`integrity      ${inspection.integrity}`, ...packageLines(inspection.package)]
  if ('refused' in inspection) {
    const { code, message } = inspection.refused
    return [...found, `refused        ${code}: ${message}`]
  }
  if (inspection.driver === undefined) return found
  const { name, contract, version, capabilities } = inspection.driver
  return [
    ...found,
    `class          ${name}`,
    `version        ${version === '' ? '-' : version}`,
    `contract       ${describeContracts(contract)}`,
    'capabilities',
    ...Object.entries(capabilities).map(([capability, value]) => `  ${capability.padEnd(18)} ${shown(value)}`),
  ]
}

function packageLines(manifest: PackageManifest | undefined): readonly string[] {
  if (manifest === undefined) return []
  const { name, version, main, command } = manifest
  // A package chooses these texts: quotes keep them on one line, and what a terminal would obey out of it.
  const entry = command === undefined ? JSON.stringify(main) : command.map((word) => JSON.stringify(word)).join(' ')
  return [`package        ${JSON.stringify(name)} ${JSON.stringify(version)}`, `entry          ${entry}`]
}

function shown(value: unknown): string {
  if (!Array.isArray(value)) return String(value)
  return value.length === 0 ? '-' : value.join(', ')
}
