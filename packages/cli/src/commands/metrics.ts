import type { Command } from 'commander'

import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { type CommandHost, exitCodes } from './cli-command.js'

const verbs = {
  enable: 'enable metrics scraping of the sidecars of namespaces, for existing and new pods',
  disable: 'disable metrics scraping of the sidecars of namespaces',
} as const

/** `osm metrics` */
export function addMetrics(program: Command, host: CommandHost): void {
  const parent = program.command('metrics').description('enable or disable metrics scraping by namespace')
  addVerb(parent, 'enable', host)
  addVerb(parent, 'disable', host)
}

function addVerb(parent: Command, verb: keyof typeof verbs, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command(verb))
    .description(verbs[verb])
    .requiredOption('--namespace <namespaces>', 'comma-separated namespaces; may be repeated', addNames)
    .action(async ({ namespace }: { readonly namespace: readonly string[] }, command: Command) => {
      const { disableMetrics, enableMetrics } = await import('../namespaces/metrics.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const write = verb === 'enable' ? enableMetrics : disableMetrics
      for (const name of namespace) {
        await write(cluster, name)
        context.stdout.write(`Metrics successfully ${verb}d in namespace [${name}]\n`)
      }
      onExit(exitCodes.ok)
    })
}

function addNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return [...before, ...names]
}
