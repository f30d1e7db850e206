import type { KubernetesErrorCode } from '@osm-ts/kubernetes'
import { CommanderError } from 'commander'
import { isOsmError, type OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from './cli-context.js'
import { loadConfig } from './config/cli-config.js'
import { exitCodes, type ExitCode } from './commands/cli-command.js'
import { plainText } from './output/style.js'
import { buildProgram } from './program.js'

/** Runs one command line to its end. Gives the exit code; what went wrong was said on standard error. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok
  // Wherever it stands: people add it to the end of a command that failed.
  const verbose = args.includes('--verbose')
  try {
    const program = buildProgram({
      context,
      config: await loadConfig(context.variables),
      onExit: (chosen) => {
        code = chosen
      },
    })
    await program.parseAsync(
      args.filter((arg) => arg !== '--verbose'),
      { from: 'user' },
    )
    return code
  } catch (error) {
    // Commander has printed the help, or what is wrong with the command line.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    context.stderr.write(describeError(error, verbose))
    return exitCodes.problem
  }
}

/** One line with the code, and a hint where there is one. The stack is for those who ask. */
export function describeError(error: unknown, verbose: boolean): string {
  const lines = isOsmError(error)
    ? [`osm: ${error.message} [${error.code}]`, ...hintOf(error)]
    : [`osm: ${errorMessage(error)}`, ...(verbose ? [] : ['  add --verbose for a stack trace'])]
  const stack = verbose && error instanceof Error ? [...stackLines(error), ...causes(error.cause)] : []
  return [...lines, ...stack].map((line) => `${plainText(line)}\n`).join('')
}

/** What to do about an API server that did not do what was asked, by the code of the error. */
const hints: Readonly<Partial<Record<KubernetesErrorCode, string>>> = {
  OSM_KUBERNETES_CONFIG: 'select the cluster with --kubeconfig and --context, or with KUBECONFIG',
  OSM_KUBERNETES_CREDENTIALS: 'check that kubectl works with the same kubeconfig',
  OSM_KUBERNETES_UNREACHABLE: 'check that the cluster is running, and that kubectl works with the same kubeconfig',
  OSM_KUBERNETES_UNAUTHORIZED: 'log in to the cluster again, or select another user with --context',
  OSM_KUBERNETES_FORBIDDEN: 'request the permission, or select another user with --context',
  OSM_KUBERNETES_THROTTLED: 'try again in a moment',
}

/** The hint for a code of an error; undefined where there is nothing to say. */
function clusterHint(code: string): string | undefined {
  return Object.hasOwn(hints, code) ? hints[code as KubernetesErrorCode] : undefined // checked before
}

function hintOf({ code, details }: OsmError): readonly string[] {
  const hint = details['hint'] ?? clusterHint(code)
  return typeof hint === 'string' ? [`  ${hint}`] : []
}

function stackLines({ stack = '' }: Error): readonly string[] {
  return stack.split('\n').slice(1)
}

function causes(cause: unknown): readonly string[] {
  return cause instanceof Error ? [`  caused by: ${cause.message}`, ...stackLines(cause), ...causes(cause.cause)] : []
}
