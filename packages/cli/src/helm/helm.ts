import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { findProgram } from '../find-programs.js'
import type { ClusterFlags } from '../kubernetes/cluster-options.js'
import { plainLine, span } from '../output/style.js'

/** Helm that can be run. */
export interface Helm {
  readonly program: string
  readonly version: string
  /** Versions 3 and 4 name some options differently. */
  readonly major: number
}

/** What a run of helm works on. */
export interface HelmRun {
  readonly helm: Helm
  readonly namespace: string
  readonly flags: ClusterFlags
  readonly context: Pick<CliContext, 'variables' | 'stderr' | 'cwd'>
  readonly signal: AbortSignal
}

const oldestHelm = { major: 3, minor: 14 }
/** A program that does not say its version by then is none of ours. */
const versionTimeoutMs = 10_000
const howToGetIt = `helm ${oldestHelm.major}.${oldestHelm.minor} or newer is required; see https://helm.sh/docs/intro/install`
/** Messages of helm that are kept; charts that fail may say a lot. */
const maxLines = 200

/**
 * Helm: the program that was named, else that of HELM_BIN, else the one on the PATH.
 *
 * @throws OsmError when there is none that can be run, or it is too old
 */
export async function findHelm(context: CliContext, named: string | undefined): Promise<Helm> {
  const program = findProgram(context, named, {
    name: 'helm',
    variable: 'HELM_BIN',
    missing: 'OSM_CLI_HELM_MISSING',
    hint: `set it with --helm <path> or HELM_BIN; ${howToGetIt}`,
  })
  const said = await new Promise<string>((resolve) => {
    const options = { timeout: versionTimeoutMs, env: context.variables, signal: context.signal }
    // What went wrong shows in what was said: nothing.
    execFile(program, ['version', '--short'], options, (_error, stdout) => resolve(stdout))
  })
  const { version, major, minor } = /^(?<version>v(?<major>\d+)\.(?<minor>\d+)[^\s+]*)/m.exec(said)?.groups ?? {}
  if (version === undefined || major === undefined || minor === undefined)
    throw cliError('OSM_CLI_HELM_OLD', `${program} version does not print a helm version`, howToGetIt)
  if (Number(major) < oldestHelm.major || (Number(major) === oldestHelm.major && Number(minor) < oldestHelm.minor))
    throw cliError('OSM_CLI_HELM_OLD', `${program} is helm ${version}, which is too old`, howToGetIt)
  return { program, version, major: Number(major) }
}

/**
 * Runs helm on the cluster that the options name. Its warnings go to standard error; its other output is discarded.
 *
 * @throws OsmError `OSM_CLI_HELM` with what helm said
 */
export async function runHelm(
  { helm, namespace, flags, context, signal }: HelmRun,
  args: readonly string[],
): Promise<void> {
  const place = [
    `--namespace=${namespace}`,
    ...(flags.kubeconfig === undefined ? [] : [`--kubeconfig=${flags.kubeconfig}`]),
    ...(flags.context === undefined ? [] : [`--kube-context=${flags.context}`]),
  ]
  const { code, lines } = await new Promise<{ readonly code: number | null; readonly lines: readonly string[] }>(
    (resolve, reject) => {
      const child = spawn(helm.program, [...args, ...place], {
        stdio: ['ignore', 'ignore', 'pipe'],
        cwd: context.cwd,
        env: ownCluster(context.variables),
      })
      const kept = keptLines(child.stderr)
      // Helm cleans up after the first interrupt, and what it began would be left half done otherwise.
      const stop = (): void => void child.kill('SIGINT')
      signal.addEventListener('abort', stop, { once: true })
      child.once('error', reject)
      child.once('close', (exitCode) => {
        signal.removeEventListener('abort', stop)
        resolve({ code: exitCode, lines: kept })
      })
    },
  )
  signal.throwIfAborted()
  if (code === 0) {
    for (const line of lines) context.stderr.write(`helm: ${plainLine(line)}\n`)
    return
  }
  const said = lines.map((line) => line.replace(/^Error: /, '')).join('\n  ')
  throw cliError(
    'OSM_CLI_HELM',
    `helm ${args[0] ?? ''} failed: ${said === '' ? `it ended with code ${String(code)}` : said}`,
    `helm history and kubectl get pods, both with --namespace ${namespace}, show details`,
  )
}

/** The variables by which helm would choose another cluster than the options did, and osm with them, are not for it. */
function ownCluster(variables: CliContext['variables']): NodeJS.ProcessEnv {
  const isChoice = (name: string): boolean => name.startsWith('HELM_KUBE') || name === 'HELM_NAMESPACE'
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !isChoice(name)))
}

/** The first lines of a stream, as they come; the rest is read and dropped. */
function keptLines(stream: Readable): readonly string[] {
  const lines: string[] = []
  createInterface({ input: stream }).on('line', (line) => {
    if (line.trim() !== '' && lines.length < maxLines) lines.push(span(line).text)
  })
  return lines
}
