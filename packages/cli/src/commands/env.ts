import type { Command } from 'commander'

import { clusterFlagsOf, osmNamespaceOf, usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { type CommandHost, exitCodes } from './cli-command.js'

/** `osm env` */
export function addEnv(program: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  usesCluster(program.command('env'))
    .description('print the effective settings of osm, in the format of its settings file')
    .addOption(outputOption(['yaml', 'json']))
    .addHelpText(
      'after',
      `
The settings file is $OSM_CONFIG, else ~/.osm/config.yaml. Defaults apply if the file does not exist. If install.kind is
managed, osm does not install, upgrade or uninstall a mesh.`,
    )
    .action(async ({ output }: { readonly output: string }, command: Command) => {
      const namespace = osmNamespaceOf(clusterFlagsOf(command), host)
      const settings = { install: { ...config, namespace } }
      const { toYaml } = await import('../output/to-yaml.js')
      context.stdout.write(output === 'json' ? toJson(settings) : `---\n${toYaml(settings)}`)
      onExit(exitCodes.ok)
    })
}
