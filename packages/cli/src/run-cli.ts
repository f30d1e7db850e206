import { CommanderError } from 'commander'
import { isOsmError, type OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from './cli-context.js'
import { loadConfig } from './config/cli-config.js'
import { exitCodes, type ExitCode } from './exit-code.js'
import { clusterHint } from './kubernetes/cluster-hints.js'
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
  return [...lines, ...stack].map((line) => `${line}\n`).join('')
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
