import { writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'

import type { Problem } from '@osm-ts/core'
import { InvalidArgumentError, type Command } from 'commander'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import type { ReportScope } from '../bug-report/collect.js'
import type { ReportFile } from '../bug-report/pack-report.js'
import type { ReportArchive } from '../bug-report/report-archive.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { type ControlPlane, theControlPlane } from '../kubernetes/control-planes.js'
import type { DebugApi } from '../state/debug-api.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { loadRunningMesh } from './load-running-mesh.js'
import {
  debugApiOf,
  meshSourceHelpByCluster,
  meshSourceOf,
  type MeshSource,
  stateOption,
  type StateFlags,
} from './mesh-source.js'

interface BugReportFlags extends StateFlags {
  readonly all?: boolean
  readonly appNamespaces?: readonly string[]
  readonly appDeployments?: readonly string[]
  readonly appPods?: readonly string[]
  readonly ingress?: boolean
  readonly outFile?: string
}

/** `osm support bug-report` */
export function addBugReport(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('bug-report'))
    .description('collect diagnostics in one archive, without secrets')
    .addOption(stateOption())
    .option('--all', 'include all namespaces of the mesh')
    .option('--app-namespaces <namespace...>', 'namespaces to include', addNames)
    .option('--app-deployments <deployment...>', 'Deployments to include: <namespace>/<deployment>', addPairs)
    .option('--app-pods <pod...>', 'pods to include: <namespace>/<pod>', addPairs)
    .option('--ingress', 'include Ingresses and IngressBackends of these namespaces')
    .option(
      '-o, --out-file <file>',
      'archive to write: .tar.gz, .tgz or .tar (default: osm-bug-report-<time>.tar.gz)',
      parseOutFile,
    )
    .addHelpText(
      'after',
      `
The archive contains index.html, which lists the findings of osm analyze, every file with its source, and the redacted data. Data of Secrets,
values of environment variables, private keys, tokens and passwords are redacted. Logs of applications are not collected. Review the files
before you share them.

Data that cannot be read is listed with the reason, and does not fail the report.
${meshSourceHelpByCluster}

Examples:
  osm support bug-report --all
  osm support bug-report --app-pods shop/store-0,shop/buyer-0 -o report.tar.gz`,
    )
    .action(async (flags: BugReportFlags, command: Command) => {
      const { ReportArchive } = await import('../bug-report/report-archive.js')
      const { renderReportPage } = await import('../bug-report/report-page.js')
      const { stringify } = await import('../output/yaml-library.js')
      const source = await meshSourceOf(host, flags.state === undefined ? {} : { state: flags.state }, command)
      const plane = source.kind === 'cluster' ? await theControlPlane(source.cluster) : undefined
      const createdAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
      const archive = new ReportArchive((value) => stringify(value))
      const findings = await collect(context, source, plane, flags, archive)
      const facts = { createdAt, version: context.version, mesh: meshText(source, plane), findings }
      const { redactText } = await import('../bug-report/redact.js')
      const page = redactText(renderReportPage(facts, archive.entries))
      const file = resolve(context.cwd, flags.outFile ?? `osm-bug-report-${createdAt.replace(/[^0-9TZ]/g, '')}.tar.gz`)
      const files = archive.entries.flatMap(({ path, text }) => (text === undefined ? [] : [{ path, text }]))
      await writeArchive(file, [{ path: 'index.html', text: page }, ...files])
      const missing = archive.entries.length - files.length
      context.stdout.write(
        `${file}\n${files.length} files, ${missing} could not be read; index.html in the archive lists them\n`,
      )
      onExit(exitCodes.ok)
    })
}

async function collect(
  { signal, stderr }: CliContext,
  source: MeshSource,
  plane: ControlPlane | undefined,
  flags: BugReportFlags,
  archive: ReportArchive,
): Promise<readonly Problem[]> {
  const { collectCluster, collectDebugPages, collectLocal } = await import('../bug-report/collect.js')
  const { collectFindings } = await import('../analyze/findings.js')
  const { analyzeRunningMesh } = await import('../analyze/running-mesh.js')
  let opened: Promise<DebugApi> | undefined
  const openApi = (): Promise<DebugApi> => (opened ??= debugApiOf(source, signal))
  const progress = (text: string): unknown => stderr.write(`${text} …\n`)
  progress('Reading what the controller knows')
  await collectDebugPages(archive, openApi)
  if (source.kind === 'local') {
    progress('Reading the folder and logs of the mesh')
    await collectLocal(archive, source.mesh)
  } else if (plane !== undefined) {
    progress('Reading objects and logs of the cluster')
    await collectCluster(archive, source.cluster, plane, await scopeOf(source, plane, flags))
  }
  progress('Analyzing the mesh')
  let findings: readonly Problem[] = []
  await archive.add('findings.yaml', 'osm analyze', async () => {
    const model = await loadRunningMesh(source, signal, {})
    const running = await analyzeRunningMesh(openApi, { now: Date.now(), isChanged: false })
    ;({ findings } = collectFindings([model.problems, running], model.annotationsOf, { suppress: [] }))
    return findings
  })
  return findings
}

async function scopeOf(
  source: Extract<MeshSource, { readonly kind: 'cluster' }>,
  { meshName }: ControlPlane,
  { all = false, appNamespaces = [], appDeployments = [], appPods = [], ingress = false }: BugReportFlags,
): Promise<ReportScope> {
  const { listNamespaces } = await import('../namespaces/mesh-namespaces.js')
  const monitored = all ? (await listNamespaces(source.cluster, meshName)).map(({ namespace }) => namespace) : []
  return {
    namespaces: [...new Set([...monitored, ...appNamespaces])].sort(),
    pods: appPods,
    deployments: appDeployments,
    ingress,
  }
}

async function writeArchive(file: string, files: readonly ReportFile[]): Promise<void> {
  const { packReport } = await import('../bug-report/pack-report.js')
  const bytes = await packReport(files, basename(file))
  // For the user alone: it describes the whole mesh.
  await writeFile(file, bytes, { mode: 0o600 }).catch((error: unknown) => {
    throw cliError(
      'OSM_CLI_OUTPUT',
      `${file} cannot be written: ${errorMessage(error)}`,
      'choose another file with --out-file',
    )
  })
}

function meshText(source: MeshSource, plane: ControlPlane | undefined): string {
  if (source.kind === 'local') return `the mesh of ${source.mesh.folder}`
  return `mesh ${plane?.meshName ?? ''} in namespace ${plane?.namespace ?? ''}`
}

function parseOutFile(text: string): string {
  if (/\.(?:tar\.gz|tgz|tar)$/.test(text)) return text
  throw new InvalidArgumentError('the file name must end with .tar.gz, .tgz or .tar.')
}

/** Names may be separated by spaces or commas, as OSM has it. */
function addNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',')
  for (const name of names)
    if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
      throw new InvalidArgumentError(`${JSON.stringify(name)} is not a name of a namespace.`)
  return [...before, ...names]
}

function addPairs(text: string, before: readonly string[] = []): readonly string[] {
  const pairs = text.split(',')
  for (const pair of pairs)
    if (!/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(pair))
      throw new InvalidArgumentError(`${JSON.stringify(pair)}: write <namespace>/<name>.`)
  return [...before, ...pairs]
}
