import { type Command, Option } from 'commander'

import { wantsColor } from '../cli-context.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { meshFolder } from './run-options.js'

interface MigrateFlags {
  readonly to: 'gateway-api' | 'smi'
  readonly namespace?: string
  readonly output: 'json' | 'yaml'
}

/** `osm migrate policy [folder]` */
export function addMigratePolicy(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('policy'))
    .description('translate TrafficSplits into HTTPRoutes and TCPRoutes, or the reverse; changes nothing')
    .argument('[folder]', 'folder of YAML files (default: the mesh of the cluster)')
    .addOption(
      new Option('--to <interface>', 'interface to translate to').choices(['gateway-api', 'smi']).makeOptionMandatory(),
    )
    .option('-n, --namespace <namespace>', 'namespace of the translated objects (default: all)')
    .addOption(new Option('-o, --output <form>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
Each HTTP port of a Service with TrafficSplits gets one HTTPRoute, with the backends and HTTPRouteGroups of the TrafficSplits. It
sends all other requests to the Service itself. Each other port gets a TCPRoute if one of the TrafficSplits has no matches.
Keep TrafficTargets and their HTTPRouteGroups: they grant access. TrafficSplits have no effect on ports with a route. Apply the
routes first, then delete the TrafficSplits.

With --to smi, each match of the HTTPRoutes of a Service becomes a TrafficSplit with an HTTPRouteGroup. Its TCPRoutes become a
TrafficSplit for all of its ports. Delete the routes first, then apply the TrafficSplits. TrafficSplits do not support filters, timeouts,
query parameters and backends in other namespaces; these are omitted.

Objects are written to standard output, warnings and errors about omissions to standard error. The exit code is 1 if there are errors,
and 0 if there are only warnings.

Examples:
  osm migrate policy --to gateway-api mesh/ > routes.yaml
  osm migrate policy --to gateway-api -n shop | kubectl apply -f -
  osm migrate policy --to smi mesh/ > splits.yaml`,
    )
    .action(async (folder: string | undefined, flags: MigrateFlags, command: Command) => {
      const { withShortPlaces } = await import('../spec/short-places.js')
      const { renderProblems } = await import('../spec/render-problems.js')
      const { problems: found, ...printed } = await translate(flags, await loadMesh(host, folder, command))
      const problems = withShortPlaces(found, context.cwd)
      if (flags.output === 'json') context.stdout.write(toJson({ ...printed, problems }))
      else {
        const { toYaml } = await import('../output/to-yaml.js')
        // Readers of YAML 1.1, such as kubectl, take a plain yes for true.
        const form = { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false } as const
        const objects = 'routes' in printed ? printed.routes : printed.objects
        context.stdout.write(objects.map((object) => toYaml(object, form)).join('---\n'))
        const color = wantsColor(context.stderr, context.variables)
        if (problems.length > 0) context.stderr.write(toText(renderProblems(problems, color)))
      }
      onExit(problems.some(({ severity }) => severity === 'error') ? exitCodes.problem : exitCodes.ok)
    })
}

async function translate({ to, namespace }: MigrateFlags, mesh: Awaited<ReturnType<typeof loadMesh>>) {
  if (to === 'gateway-api') {
    const { routesOfSplits } = await import('../policy/gateway-routes.js')
    return routesOfSplits(mesh, namespace)
  }
  const { splitsOfRoutes } = await import('../policy/smi-splits.js')
  return splitsOfRoutes(mesh, namespace)
}

async function loadMesh(host: CommandHost, folder: string | undefined, command: Command) {
  const { context } = host
  if (folder !== undefined) {
    const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
    return loadFolder(meshFolder(context.cwd, folder).folder, standaloneNaming, context.signal)
  }
  const { loadCluster } = await import('../kubernetes/load-cluster.js')
  const cluster = await openCluster(host, clusterFlagsOf(command))
  return loadCluster(cluster, await theControlPlane(cluster))
}
