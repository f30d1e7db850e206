import { InvalidArgumentError, Option, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { clusterDebugApi } from '../kubernetes/cluster-debug.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import type { MigrationPlan } from '../migration/plan-migration.js'
import type { MigrationResult } from '../migration/run-migration.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { durationMs, timeoutOption } from './install-options.js'

interface MigrateFlags {
  readonly to: string
  readonly dryRun?: true
  readonly parallel: number
  readonly timeout: string
  readonly keep?: true
  readonly allowMissing: readonly string[]
  readonly output: string
}

/** `osm driver migrate <namespace>` */
export function addDriverMigrate(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('migrate'))
    .description('change the sidecar class of the pods of a namespace, one workload at a time')
    .argument('<namespace>', 'namespace to migrate')
    .requiredOption('--to <class>', 'new sidecar class of its pods', (text: string) => text.toLowerCase())
    .option('--dry-run', 'print the plan without changing anything')
    .option('--parallel <number>', 'number of workloads to restart concurrently', parseCount, 1)
    .addOption(timeoutOption('timeout per workload; 0 for no limit'))
    .option('--keep', 'do not restore anything if the migration stops')
    .addOption(
      new Option(
        '--allow-missing <feature>',
        'continue if the class lacks this feature although policies need it; may be repeated',
      )
        .default([], 'none')
        .argParser((feature: string, before: readonly string[]) => [...before, feature]),
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The command first checks the prerequisites. The driver of the class must be ready in every controller, and the class must support the
policies of the namespace. Pods of every workload must be admitted with the class, and must get the class of the namespace after a restart.
Then the command annotates the namespace with the class and restarts each Deployment, StatefulSet and DaemonSet, as kubectl rollout
restart does. A workload is migrated when all its pods are new and ready, and their sidecars have applied their configuration.

An error or Ctrl-C stops the migration. The namespace and the current workload are restored; migrated workloads keep the new class.
Run the same command to continue, or use --to with the old class to revert. Pods without a controller and pods of Jobs are
listed, but not changed.

The MeshConfig must have spec.observability.enableDebugServer: true. Required permissions: get and patch the namespace; list and patch
its deployments, statefulsets and daemonsets; list its replicasets and pods. In the namespace of the control plane: list deployments and
pods, get and create pods/portforward. The permission to create pods of the namespace is optional and used for dry runs only.

The exit code is 1 if a check fails or the migration stopped.

Examples:
  osm driver migrate shop --to pipy --dry-run
  osm driver migrate shop --to pipy --parallel 3 --timeout 10m`,
    )
    .action(async (namespace: string, flags: MigrateFlags, command: Command) => {
      const { readMigrationFacts } = await import('../migration/read-facts.js')
      const { planMigration } = await import('../migration/plan-migration.js')
      const { renderPlan, renderResult } = await import('../migration/render-migration.js')
      const { to, allowMissing, output, dryRun = false, keep = false, parallel, timeout } = flags
      const color = wantsColor(context.stdout, context.variables)
      const show = (json: object, lines: readonly string[]): void =>
        void context.stdout.write(output === 'json' ? toJson(json) : toText(lines))
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const facts = await readMigrationFacts(cluster, { namespace, to, allowMissing })
      const plan = planMigration(facts)
      if (dryRun) {
        show({ plan }, renderPlan(plan, color))
        onExit(plan.obstacles.length === 0 ? exitCodes.ok : exitCodes.problem)
        return
      }
      if (plan.obstacles.length > 0) throw inTheWay(plan)
      const { runMigration } = await import('../migration/run-migration.js')
      const result = await runMigration({
        cluster,
        plan,
        workloads: facts.workloads.restartable,
        statuses: async () => (await clusterDebugApi(cluster)).statuses(),
        tell: (line) => void context.stderr.write(`osm: ${span(line).text}\n`),
        timeoutMs: durationMs(timeout),
        parallel,
        keep,
      })
      show({ plan, result }, renderResult(plan, result, color))
      if (result.outcome === 'stopped') throw stopped(plan, result)
      onExit(exitCodes.ok)
    })
}

function inTheWay({ namespace, to, obstacles }: MigrationPlan): Error {
  return cliError(
    'OSM_CLI_MIGRATION',
    `namespace ${namespace} cannot be migrated to class ${to}: ${obstacles.map(({ what }) => what).join('; ')}`,
    [...new Set(obstacles.map(({ advice }) => advice))].join('; '),
  )
}

function stopped({ namespace, to, from }: MigrationPlan, { reason = '', faults }: MigrationResult): Error {
  const broken = faults.length === 0 ? '' : `; could not be restored: ${faults.join('; ')}`
  const back = from.map((name) => `osm driver migrate ${namespace} --to ${name}`).join(' or ')
  return cliError(
    'OSM_CLI_MIGRATION_STOPPED',
    `migration of namespace ${namespace} to class ${to} stopped: ${reason}${broken}`,
    `fix the cause and run the same command again${back === '' ? '' : `, or revert with ${back}`}`,
  )
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!/^\d{1,3}$/.test(text) || count < 1) throw new InvalidArgumentError('write a number from 1 to 999.')
  return count
}
