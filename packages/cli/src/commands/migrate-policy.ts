import { type Command, Option } from 'commander'

import { wantsColor } from '../cli-context.js'
import { exitCodes } from '../exit-code.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { toJson } from '../output/format.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshFolder } from './run-options.js'

interface MigrateFlags {
  readonly to: 'gateway-api'
  readonly namespace?: string
  readonly output: 'json' | 'yaml'
}

/** `osm migrate policy [folder]` */
export function addMigratePolicy(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('policy'))
    .description('print HTTPRoutes that do what TrafficSplits do; changes nothing')
    .argument('[folder]', 'folder of YAML files; the mesh of a cluster if absent')
    .addOption(
      new Option('--to <interface>', 'interface to translate to').choices(['gateway-api']).makeOptionMandatory(),
    )
    .option('-n, --namespace <namespace>', 'namespace of the TrafficSplits; all if absent')
    .addOption(new Option('-o, --output <form>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
Each port of a Service with TrafficSplits gets one HTTPRoute. It has the backends and the HTTPRouteGroups of the TrafficSplits, and sends
all other requests to the Service itself. TrafficTargets and their HTTPRouteGroups stay: they grant access. Where an HTTPRoute is
attached, TrafficSplits have no effect, so apply the HTTPRoutes first and delete the TrafficSplits then.

HTTPRoutes are written to standard output, and what they cannot say to standard error. The exit code is 1 if there is an error among
that, and 0 if there are only warnings.

Examples:
  osm migrate policy --to gateway-api mesh/ > routes.yaml
  osm migrate policy --to gateway-api -n shop | kubectl apply -f -`,
    )
    .action(async (folder: string | undefined, flags: MigrateFlags, command: Command) => {
      const { routesOfSplits } = await import('../policy/gateway-routes.js')
      const { withShortPlaces } = await import('../spec/short-places.js')
      const { renderProblems } = await import('../spec/render-problems.js')
      const found = routesOfSplits(await loadMesh(host, folder, command), flags.namespace)
      const problems = withShortPlaces(found.problems, context.cwd)
      if (flags.output === 'json') context.stdout.write(toJson({ routes: found.routes, problems }))
      else {
        const { stringify } = await import('../output/yaml-library.js')
        // Readers of YAML 1.1, such as kubectl, take a plain yes for true.
        const form = { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false } as const
        context.stdout.write(found.routes.map((route) => stringify(route, form)).join('---\n'))
        const color = wantsColor(context.stderr, context.variables)
        if (problems.length > 0) context.stderr.write(toText(renderProblems(problems, color)))
      }
      onExit(problems.some(({ severity }) => severity === 'error') ? exitCodes.problem : exitCodes.ok)
    })
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
