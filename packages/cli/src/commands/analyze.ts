import type { Problem } from '@osm-ts/core'
import { type Command, Option } from 'commander'

import type { AnnotationsOf } from '../analyze/findings.js'
import type { KeyedObject } from '../analyze/mesh-keys.js'
import type { WrittenWorkload } from '../analyze/workloads/read-workloads.js'
import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import type { InputFiles } from '../spec/input-files.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { loadRunningMesh } from './load-running-mesh.js'
import { debugApiOf, meshSourceHelpByCluster, meshSourceOf, type MeshSourceFlags, stateOption } from './mesh-source.js'

type Threshold = Problem['severity'] | 'never'

interface AnalyzeFlags extends MeshSourceFlags {
  readonly againstMesh?: boolean
  readonly suppress?: readonly string[]
  readonly failOn: Threshold
  readonly output: 'table' | 'json' | 'sarif' | 'junit'
}

/** `osm analyze [paths...]` */
export function addAnalyze(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('analyze'))
    .description('find problems in a running mesh, in files, or in a mesh with files applied')
    .argument('[paths...]', 'files or folders of YAML, - for standard input (default: the running mesh)')
    .option('--against-mesh', 'analyze the running mesh as it would be with the files applied')
    .addOption(stateOption())
    .option('-n, --namespace <namespace>', 'report only objects of this namespace')
    .option('--suppress <code...>', 'codes to omit; a trailing * matches any suffix')
    .addOption(
      new Option('--fail-on <severity>', 'lowest severity that sets exit code 1')
        .choices(['error', 'warning', 'never'] satisfies Threshold[])
        .default('error'),
    )
    .addOption(outputOption(['table', 'json', 'sarif', 'junit']))
    .addHelpText(
      'after',
      `
Files are analyzed with the code of the controller and the injector, including pod templates such as those of Deployments. Nothing is
applied. Each finding has a stable code; osm support error-info <code> explains it. For a running mesh, the controller also reports rejected
configurations, failing drivers and expiring certificates.

To suppress findings about an object, set its annotation openservicemesh.io/suppress-findings: <code>,<code>.
${meshSourceHelpByCluster}

Examples:
  osm analyze
  osm analyze mesh/ --fail-on warning
  osm analyze change.yaml --against-mesh
  osm analyze mesh/ -o sarif > osm.sarif
  helm template chart/ | osm analyze -`,
    )
    .action(async (paths: readonly string[], flags: AnalyzeFlags, command: Command) => {
      if (flags.againstMesh === true && paths.length === 0)
        command.error('error: --against-mesh needs files or folders to apply')
      const isAlone = paths.length > 0 && flags.againstMesh !== true
      const { openInputFiles } = await import('../spec/input-files.js')
      const files = await openInputFiles(paths, context)
      const analyzed = isAlone
        ? { model: await loadFiles(host, files), running: [], pods: [] }
        : await loadRunning(host, flags, command, files)
      await report(host, flags, { ...analyzed, ...(await checkWorkloads(host, files, analyzed.model)) })
    })

  async function report(
    { context: { stdout, variables, cwd, version } }: CommandHost,
    { suppress = [], namespace, failOn, output }: AnalyzeFlags,
    { model, running, pods, workloads, ofWorkloads }: AnalyzedMesh & CheckedWorkloads,
  ): Promise<void> {
    const { formatObjectRef } = await import('@osm-ts/core')
    const { collectFindings, renderFindings } = await import('../analyze/findings.js')
    const { findKeyProblems } = await import('../analyze/mesh-keys.js')
    const { withShortPlaces } = await import('../spec/short-places.js')
    const { withoutForeign } = await import('../analyze/workloads/analyze-workloads.js')
    const ofPods = findKeyProblems(pods, () => undefined)
    const own = new Map(
      [...pods, ...workloads.map(({ object, annotations }) => ({ ...object, annotations }))].map((each) => [
        formatObjectRef(each),
        each.annotations,
      ]),
    )
    const annotationsOf: AnnotationsOf = (object) => own.get(formatObjectRef(object)) ?? model.annotationsOf(object)
    const all = [withoutForeign(model.problems, workloads), running, ofPods, ofWorkloads]
    const found = collectFindings(all, annotationsOf, { suppress, namespace })
    const findings = withShortPlaces(found.findings, cwd)
    switch (output) {
      case 'json': {
        stdout.write(toJson({ ...found, findings, suppressed: withShortPlaces(found.suppressed, cwd) }))
        break
      }
      case 'sarif': {
        const { toSarif } = await import('../analyze/reports.js')
        const { errorMeanings } = await import('../support/error-meanings.js')
        stdout.write(toJson(toSarif(findings, { version, meanings: errorMeanings })))
        break
      }
      case 'junit': {
        const { toJUnit } = await import('../analyze/reports.js')
        stdout.write(toJUnit(findings))
        break
      }
      case 'table': {
        stdout.write(toText(renderFindings({ ...found, findings }, wantsColor(context.stdout, variables))))
      }
    }
    const isFailure = ({ severity }: Problem): boolean =>
      failOn !== 'never' && (severity === 'error' || failOn === 'warning')
    onExit(findings.some(isFailure) ? exitCodes.problem : exitCodes.ok)
  }
}

async function loadFiles({ context: { signal } }: CommandHost, files: InputFiles): Promise<MeshModel> {
  const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
  const { proposedChange } = await import('../spec/proposed-change.js')
  return await loadFolder(proposedChange(files).source, standaloneNaming, signal)
}

/** Workloads of files, and what is wrong with their pods. */
interface CheckedWorkloads {
  readonly workloads: readonly WrittenWorkload[]
  readonly ofWorkloads: readonly Problem[]
}

async function checkWorkloads(
  { context: { signal } }: CommandHost,
  files: InputFiles,
  model: MeshModel,
): Promise<CheckedWorkloads> {
  const { analyzeWorkloads } = await import('../analyze/workloads/analyze-workloads.js')
  const { workloads, problems } = await analyzeWorkloads(files, model, signal)
  return { workloads, ofWorkloads: problems }
}

/** What is looked at. */
interface AnalyzedMesh {
  readonly model: MeshModel
  /** What the controller knows. */
  readonly running: readonly Problem[]
  /** Pods of the mesh in a cluster, as far as their labels and annotations go. */
  readonly pods: readonly KeyedObject[]
}

/** The running mesh, with the files applied if there are any, and what its controller knows of it as it is. */
async function loadRunning(
  host: CommandHost,
  { namespace, ...flags }: AnalyzeFlags,
  command: Command,
  files: InputFiles,
): Promise<AnalyzedMesh> {
  const { proposedChange } = await import('../spec/proposed-change.js')
  const { analyzeRunningMesh } = await import('../analyze/running-mesh.js')
  const source = await meshSourceOf(host, flags, command)
  const change = files.paths.length === 0 ? undefined : proposedChange(files)
  const model = await loadRunningMesh(source, host.context.signal, { change })
  const running = await analyzeRunningMesh(() => debugApiOf(source, host.context.signal), {
    now: Date.now(),
    isChanged: change !== undefined,
  })
  return { model, running, pods: source.kind === 'local' ? [] : await readPods(source.cluster, model, namespace) }
}

/** Those of one namespace, or of all that are of the mesh. */
async function readPods(
  cluster: Cluster,
  { snapshot, enrolment }: Pick<MeshModel, 'snapshot' | 'enrolment'>,
  only: string | undefined,
): Promise<readonly KeyedObject[]> {
  const { isMonitored } = await import('@osm-ts/core')
  const { readKeyedPods } = await import('../analyze/pod-keys.js')
  const monitored = snapshot.namespaces().filter((namespace) => isMonitored(snapshot, namespace, enrolment))
  return readKeyedPods(
    cluster,
    monitored.filter((namespace) => only === undefined || namespace === only),
  )
}
