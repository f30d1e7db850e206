import type { Command } from 'commander'

import { exitCodes } from '../exit-code.js'
import { clusterFlagsOf, osmNamespaceOf, usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import type { CommandHost } from './cli-command.js'

/** `osm env` */
export function addEnv(program: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  usesCluster(program.command('env'))
    .description('print the settings that osm works with, in the form of its file')
    .addOption(outputOption(['yaml', 'json']))
    .addHelpText(
      'after',
      `
The file is the one that $OSM_CONFIG names, else ~/.osm/config.yaml. Where there is none, defaults hold. Where install.kind is
managed, osm leaves it to others to install, upgrade and uninstall a mesh.`,
    )
    .action(async ({ output }: { readonly output: string }, command: Command) => {
      const namespace = osmNamespaceOf(clusterFlagsOf(command), host)
      const settings = { install: { ...config, namespace } }
      const { stringify } = await import('../output/yaml-library.js')
      context.stdout.write(output === 'json' ? toJson(settings) : `---\n${stringify(settings)}`)
      onExit(exitCodes.ok)
    })
}
