import { setTimeout as sleep } from 'node:timers/promises'

import type { Command } from 'commander'

import type { ControllerCertificates } from '../certificates/render-certificates.js'
import type { ControllerProgress, RotationResult, RotationTarget } from '../certificates/rotate-root.js'
import { cliError } from '../errors.js'
import { clusterCertificates } from '../kubernetes/cluster-debug.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { durationMs, timeoutOption } from './install-options.js'
import { meshSourceOf, stateOption } from './mesh-source.js'

interface RotateFlags {
  readonly timeout: string
  readonly output: string
  readonly state?: string
}

const RIGHTS = `
Required permissions in the namespace of the control plane: list and patch meshrootcertificates; list deployments and pods. To count the sidecars
of each controller, the command also needs to get and create pods/portforward, and spec.observability.enableDebugServer: true in the MeshConfig.`
const FRESH_RIGHTS = `
A new root also requires permission to create meshrootcertificates, and to create and delete secrets.`

/** `osm certificate rotate` */
export function addCertificateRotate(parent: Command, host: CommandHost): void {
  withOptions(parent.command('rotate'))
    .description('rotate the root of workload certificates without losing requests')
    .argument('[name]', 'MeshRootCertificate to activate (default: a new root of the built-in authority)')
    .addHelpText(
      'after',
      `
First, all sidecars trust the root of the next provider in addition to the current one. After every sidecar has confirmed this, the command
exchanges the roles of the two MeshRootCertificates, and all certificates are replaced. Without a name, the command creates a new root: a
Secret with its key, and a MeshRootCertificate.

An error or the timeout stops the rotation. If the next provider does not sign yet, the roles are restored. If it does, run the command again
to continue waiting, or osm certificate rollback to return to the previous root. Ctrl-C ends the command only; the controllers continue.

The chart value osm.featureFlags.enableMeshRootCertificate must be true. In a standalone mesh, change spec.role in its folder instead.
${RIGHTS}${FRESH_RIGHTS}

Examples:
  osm certificate rotate
  osm certificate rotate cert-manager --timeout 10m`,
    )
    .action(async (name: string | undefined, flags: RotateFlags, command: Command) => {
      const { rotateTo } = await import('../certificates/rotate-root.js')
      const { cluster, target } = await targetOf(host, flags, command)
      const to = name ?? (await freshRoot(cluster, target))
      finish(host, flags, await rotateTo(to, target))
    })
}

/** `osm certificate rollback` */
export function addCertificateRollback(parent: Command, host: CommandHost): void {
  withOptions(parent.command('rollback'))
    .description('return to the previous root')
    .argument('[name]', 'MeshRootCertificate to return to (default: the root that signed last)')
    .addHelpText(
      'after',
      `
Exchanges the roles of the active MeshRootCertificate and the previous one. This takes effect immediately, because sidecars trust both roots.
The command fails if they no longer trust the previous root.
${RIGHTS}`,
    )
    .action(async (name: string | undefined, flags: RotateFlags, command: Command) => {
      const { rollBack } = await import('../certificates/rotate-root.js')
      const { target } = await targetOf(host, flags, command)
      finish(host, flags, await rollBack(name, target))
    })
}

function withOptions(command: Command): Command {
  return usesCluster(command)
    .addOption(stateOption())
    .addOption(timeoutOption('how long to wait until all certificates are replaced; 0 for no limit'))
    .addOption(outputOption())
}

async function targetOf(
  host: CommandHost,
  flags: RotateFlags,
  command: Command,
): Promise<{ readonly cluster: Cluster; readonly target: RotationTarget }> {
  const { signal, stderr } = host.context
  const source = await meshSourceOf(host, flags, command)
  if (source.kind === 'local')
    throw cliError(
      'OSM_CLI_ROTATION',
      `the roots of a standalone mesh are chosen by the files of its folder, ${source.mesh.folder}`,
      'change spec.role of its MeshRootCertificates there, and follow osm certificate status',
    )
  const { cluster } = source
  const { namespace } = await theControlPlane(cluster)
  const { listRootObjects, setRootRole } = await import('../certificates/root-objects.js')
  return {
    cluster,
    target: {
      roots: () => listRootObjects(cluster, namespace),
      setRole: (name, role) => setRootRole(cluster, namespace, name, role),
      // Only for people: the status of the objects tells what counts.
      progress: async () => (await clusterCertificates(cluster).catch(() => [])).flatMap(progressOf),
      tell: (line) => void stderr.write(`osm: ${span(line).text}\n`),
      sleep: (milliseconds) => sleep(milliseconds, undefined, { signal }),
      timeoutMs: durationMs(flags.timeout),
      now: () => performance.now(),
    },
  }
}

function progressOf({ controller, rotation }: ControllerCertificates): readonly ControllerProgress[] {
  if (rotation === undefined) return []
  const { connected, missing } = rotation.sidecars
  return [{ controller, signs: rotation.signs, connected, confirmed: connected - missing }]
}

async function freshRoot(cluster: Cluster, { roots, tell }: RotationTarget): Promise<string> {
  const { makeFreshRoot } = await import('../certificates/fresh-root.js')
  const { assertOneActive } = await import('../certificates/rotate-root.js')
  const known = await roots()
  assertOneActive(known)
  const name = await makeFreshRoot(cluster, await theControlPlane(cluster), known)
  tell(`created MeshRootCertificate ${name} with a fresh root`)
  return name
}

function finish({ context, onExit }: CommandHost, { output }: RotateFlags, result: RotationResult): void {
  const { from, to, state } = result
  const words =
    from === to
      ? [`${to} is ${state} already`]
      : [`${to} signs all certificates of workloads; ${from} is trusted and passive`]
  context.stdout.write(output === 'json' ? toJson(result) : toText(words.map((line) => span(line).text)))
  onExit(exitCodes.ok)
}
