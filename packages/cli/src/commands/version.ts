import type { Command } from 'commander'
import type { VersionInfo } from '@osm-ts/program'
import { buildVersion } from '@osm-ts/program/build-version'

import { wantsColor } from '../cli-context.js'
import type { ControlPlane } from '../kubernetes/control-planes.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

interface VersionFlags {
  readonly clientOnly?: true
  readonly versionOnly?: true
  readonly output: string
}

/** A control plane with the version that it says itself; undefined where it does not answer. */
type VersionedMesh = ControlPlane & { readonly says: VersionInfo | undefined }

/** `osm version` */
export function addVersion(program: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(program.command('version'))
    .description('print the versions of osm and of the control planes of the cluster')
    .option('--client-only', 'print the version of osm only, without a cluster')
    .option('--version-only', 'print versions only, without remarks')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Each control plane reports its own version. osm connects to the cluster only and does not check for new releases.`,
    )
    .action(async (flags: VersionFlags, command: Command) => {
      const { clientOnly = false, versionOnly = false } = flags
      const client = buildVersion(context.version)
      const isJson = flags.output === 'json'
      if (!isJson) context.stdout.write(`CLI Version: ${inFull(client)}\n`)
      if (clientOnly) {
        if (isJson) context.stdout.write(toJson({ cli: client }))
        onExit(exitCodes.ok)
        return
      }
      const { findControlPlanes } = await import('../kubernetes/control-planes.js')
      const { versionOf } = await import('../control-plane/ask-controller.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const meshes = await Promise.all(
        (await findControlPlanes(cluster)).map(async (plane) => ({
          ...plane,
          says: await versionOf(cluster, plane.namespace),
        })),
      )
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(isJson ? toJson({ cli: client, meshes: meshes.map(asJson) }) : toText(table(meshes, color)))
      for (const { meshName, namespace } of versionOnly ? [] : meshes.filter(({ says }) => says === undefined))
        context.stderr.write(
          `osm: the controller of mesh [${meshName}] in namespace [${namespace}] does not answer; its version is that of its Deployment\n`,
        )
      onExit(meshes.some(({ says }) => says === undefined) ? exitCodes.problem : exitCodes.ok)
    })
}

function inFull({ version, git_commit: commit, build_date: date }: VersionInfo): string {
  return [version, ...(commit === '' ? [] : [`commit ${commit}`]), ...(date === '' ? [] : [date])].join(', ')
}

function asJson({ meshName, namespace, version, says }: VersionedMesh): object {
  return { meshName, namespace, answered: says !== undefined, ...(says ?? { version }) }
}

function table(meshes: readonly VersionedMesh[], color: boolean): readonly string[] {
  if (meshes.length === 0) return ['Unable to find OSM control plane in the cluster']
  return [
    '',
    ...renderTable(
      ['MESH NAME', 'MESH NAMESPACE', 'VERSION', 'GIT COMMIT', 'BUILD DATE'].map((title) => ({ title })),
      meshes.map(({ meshName, namespace, version, says }) =>
        [
          meshName,
          namespace,
          says?.version ?? (version || 'Unknown'),
          says?.git_commit ?? '',
          says?.build_date ?? '',
        ].map((text) => span(text === '' ? '-' : text)),
      ),
      { color },
    ),
  ]
}
