import type { Command } from 'commander'

import { exitCodes } from '../exit-code.js'
import { outputOption, toJson } from '../output/format.js'
import type { CommandHost } from './cli-command.js'

/** `osm env` */
export function addEnv(program: Command, { context, config, onExit }: CommandHost): void {
  program
    .command('env')
    .description('print the settings that osm works with, in the form of its file')
    .addOption(outputOption(['yaml', 'json']))
    .addHelpText(
      'after',
      `
The file is the one that $OSM_CONFIG names, else ~/.osm/config.yaml. Where there is none, defaults hold. Where install.kind is
managed, osm leaves it to others to install, upgrade and uninstall a mesh.`,
    )
    .action(async ({ output }: { readonly output: string }) => {
      const settings = { install: config }
      const { stringify } = await import('yaml')
      context.stdout.write(output === 'json' ? toJson(settings) : `---\n${stringify(settings)}`)
      onExit(exitCodes.ok)
    })
}
