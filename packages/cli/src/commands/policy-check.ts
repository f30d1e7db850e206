import type { Problem, SpecErrorCode } from '@osm-ts/core'
import { Argument, InvalidArgumentError, type Command } from 'commander'

import { cliError } from '../errors.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import type { NamedThing } from '../policy-question.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

/** `osm policy check-pods <from> <to>` */
export function addPolicyCheckPods(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('check-pods'))
    .description('show whether one pod of a cluster may call another, and which TrafficTarget allows it')
    .argument('<from>', 'caller: <namespace>/<pod>', parsePod)
    .argument('<to>', 'destination: <namespace>/<pod>', parsePod)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The answer is computed from the objects of the mesh with the code of the controller; neither the controller nor the pods are queried.
The exit code is 0 if any call is allowed, 1 if not.`,
    )
    .action(async (from: NamedThing, to: NamedThing, flags: { readonly output: string }, command: Command) => {
      const { loadCluster } = await import('../kubernetes/load-cluster.js')
      const { checkPods, podsLines } = await import('../policy/check-pods.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const plane = await theControlPlane(cluster)
      const answer = checkPods(await loadCluster(cluster, plane), plane.meshName, from, to)
      const names = { from, to, mesh: plane.meshName }
      context.stdout.write(flags.output === 'json' ? toJson(answer) : toText(podsLines(answer, names)))
      onExit(answer.allowed ? exitCodes.ok : exitCodes.problem)
    })
}

interface ConflictFlags {
  readonly namespace?: string
  readonly namespaces?: string
  readonly output: string
}

/** `osm policy check-conflicts <kind>` */
export function addPolicyCheckConflicts(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('check-conflicts'))
    .description('list conflicting objects of a namespace')
    .addArgument(new Argument('<kind>', 'kind of the objects').choices(['IngressBackend']))
    .option('-n, --namespace <namespace>', 'namespace of the objects (required)')
    .option('--namespaces <namespace>', 'alias of --namespace, for compatibility with OSM')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nThe exit code is 1 if there is a conflict. The first object by name is used; the others are ignored.',
    )
    .action(async (kind: string, flags: ConflictFlags, command: Command) => {
      const namespace = flags.namespace ?? flags.namespaces
      if (namespace === undefined) command.error("error: required option '-n, --namespace <namespace>' not specified")
      const { formatObjectRef, isMonitored } = await import('@osm-ts/core')
      const { loadCluster } = await import('../kubernetes/load-cluster.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const plane = await theControlPlane(cluster)
      const { meshName } = plane
      const mesh = await loadCluster(cluster, plane)
      if (!isMonitored(mesh.snapshot, namespace, { mode: 'labelled', meshName }))
        throw cliError(
          'OSM_CLI_NAMESPACE',
          `Namespace [${namespace}] does not belong to mesh [${meshName}]`,
          `add it with osm namespace add ${namespace} --mesh-name ${meshName}`,
        )
      const conflicts = ingressBackendConflicts(mesh, namespace)
      const lines = conflicts.map(({ object, field = '', message }) => {
        const place = object === undefined ? '' : `${formatObjectRef(object)} `
        return `[+] ${place}${field}: ${message}`
      })
      const none = `[+] No conflicts among ${kind} policies in namespace [${namespace}]`
      context.stdout.write(flags.output === 'json' ? toJson(conflicts) : toText(lines.length === 0 ? [none] : lines))
      onExit(conflicts.length === 0 ? exitCodes.ok : exitCodes.problem)
    })
}

/** Reads the name of a pod. */
export function parsePod(text: string): NamedThing {
  const { namespace, name } = /^(?<namespace>[^/\s]+)\/(?<name>[^/\s]+)$/.exec(text)?.groups ?? {}
  if (namespace === undefined || name === undefined) throw new InvalidArgumentError('write <namespace>/<pod>.')
  return { namespace, name }
}

/** Conflicts among the IngressBackends of a namespace. */
function ingressBackendConflicts({ problems }: Pick<MeshModel, 'problems'>, namespace: string): readonly Problem[] {
  const conflict: SpecErrorCode = 'OSM_SPEC_CONFLICT'
  return problems.filter(
    ({ code, object }) => code === conflict && object?.kind === 'IngressBackend' && object.namespace === namespace,
  )
}
