import { isOsmError } from '@osm-ts/driver-api'
import { createLogger, type LogLevel, type ProcessLogger } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'
import { connectKubernetes, type KubernetesApi } from '@osm-ts/kubernetes'

import type { ProgramErrorCode } from './error-codes.js'
import { postFatalEvent } from './fatal-event.js'
import { fatalReasonOf } from './fatal-reason.js'
import type { FlagDefinitions, FlagDefinition } from './flag-definitions.js'
import type { processFlags } from './program-flags.js'

/** The process as {@link runProgram} sees it. */
export interface ProgramHost {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Calls back with each SIGTERM and SIGINT. The result ends it. */
  onSignal(listener: (name: string) => void): () => void
  /** Calls back with what no one has caught. The result ends it. */
  onUncaught(listener: (error: unknown) => void): () => void
  print(text: string): void
  /** Where log lines go; standard error where nothing is given. */
  readonly log?: { write(line: string): void }
  exit(code: number): void
  /** Reaches the API server, to leave an event there. */
  connect(kubeconfig: string, userAgent: string): Promise<KubernetesApi>
}

/** What {@link Program.main} is given. */
export interface ProgramContext<Flags> {
  readonly flags: Flags
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly logger: ProcessLogger
  /** Aborts when the program is asked to end. */
  readonly signal: AbortSignal
  /** Prints to standard output, for programs that report to a person. */
  readonly print: (text: string) => void
}

/** A program of the control plane. */
export interface Program<Flags> {
  readonly name: string
  /** Environment variable that names the pod the program runs in. */
  readonly podNameVariable: string
  /** For `--help`. */
  readonly definitions: FlagDefinitions & typeof processFlags
  /** Reads the command line, such as by `parseProgramFlags`. */
  readonly parse: (argv: readonly string[]) => Flags & { readonly verbosity: string }
  /** Runs until its work is done or the signal aborts. A number is the exit code. */
  readonly main: (context: ProgramContext<Flags>) => Promise<number | undefined>
}

/** An event must not keep a failed program from being started again. */
const EVENT_TIMEOUT_MS = 5000

/**
 * Runs a program from its command line to its exit code: 0 when it ends by itself or is asked to by SIGTERM or SIGINT, 1 when
 * it can't continue. Then there is one log line with the code of the error and, in a pod, an event with OSM's reason. A second
 * signal ends it without waiting.
 */
export async function runProgram<Flags>(program: Program<Flags>, host: ProgramHost): Promise<void> {
  if (host.argv.includes('--help')) {
    host.print(usage(program.name, program.definitions))
    host.exit(0)
    return
  }
  const logger = createLogger(program.name, 'info', host.log)
  const ending = new AbortController()
  const offSignal = host.onSignal((name) => {
    if (ending.signal.aborted) host.exit(1)
    else {
      logger.info({ signal: name }, 'asked to end')
      ending.abort()
    }
  })
  let offUncaught = (): void => undefined
  const uncaught = new Promise<never>((_resolve, reject) => {
    offUncaught = host.onUncaught(reject)
  })
  let code: number
  try {
    code = await Promise.race([run(program, host, logger, ending.signal), uncaught])
  } catch (error) {
    await reportFatal(program, host, logger, error)
    code = 1
  } finally {
    offSignal()
    offUncaught()
  }
  host.exit(code)
}

async function run<Flags>(
  program: Program<Flags>,
  host: ProgramHost,
  logger: ProcessLogger,
  signal: AbortSignal,
): Promise<number> {
  const flags = program.parse(host.argv)
  logger.setLevel(logLevelOf(flags.verbosity))
  const { environment } = host
  try {
    const code = await program.main({ flags, environment, logger, signal, print: (text) => host.print(text) })
    return code ?? 0
  } catch (error) {
    // Whatever is torn down on the way out ends with the reason of the signal.
    if (signal.aborted && (error === signal.reason || isAbortError(error))) return 0
    throw error
  }
}

async function reportFatal<Flags>(
  program: Program<Flags>,
  host: ProgramHost,
  logger: ProcessLogger,
  error: unknown,
): Promise<void> {
  const reason = fatalReasonOf(error)
  const message = errorMessage(error)
  const code = isOsmError(error) ? error.code : ('OSM_PROGRAM_FAULT' satisfies ProgramErrorCode)
  logger.error({ reason, code, ...(isOsmError(error) ? error.details : { stack: stackOf(error) }) }, message)
  const podName = host.environment[program.podNameVariable]
  const namespace = flagText(host.argv, 'osm-namespace') ?? flagText(host.argv, 'namespace')
  if (!podName || !namespace) return
  const signal = AbortSignal.timeout(EVENT_TIMEOUT_MS)
  try {
    const api = await host.connect(flagText(host.argv, 'kubeconfig') ?? '', program.name)
    await postFatalEvent(
      api,
      { component: program.name, namespace, podName, reason, message: `${message} [${code}]`, now: Date.now() },
      signal,
    )
  } catch (failure) {
    logger.warn({ reason: errorMessage(failure) }, 'no event was left')
  }
}

/** The value of a flag on a command line that may not be valid as a whole. */
function flagText(argv: readonly string[], name: string): string | undefined {
  const index = argv.findLastIndex((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`))
  if (index === -1) return undefined
  const argument = argv[index]
  return argument?.includes('=') === true ? argument.slice(argument.indexOf('=') + 1) : argv[index + 1]
}

/** OSM's `panic` is the last level before silence, which is what `fatal` is here. */
function logLevelOf(verbosity: string): LogLevel {
  return verbosity === 'panic' ? 'fatal' : (verbosity as LogLevel) // one of the values of the flag
}

function isAbortError(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? '') : ''
}

/** The text of `--help`. */
function usage(program: string, definitions: FlagDefinitions): string {
  const rows = Object.entries(definitions).map(([name, definition]) => {
    const values = definition.kind === 'choice' ? ` (${definition.values.join(', ')})` : ''
    return `  --${name}\n      ${definition.meaning}${values}; ${defaultText(definition)}\n`
  })
  return `Usage: ${program} [--name=value ...]\n\n${rows.join('')}`
}

function defaultText(definition: FlagDefinition): string {
  if (definition.default === undefined) return 'required'
  return definition.default === '' ? 'empty by default' : `by default ${definition.default}`
}

/** Connects a program to the API server that its flags and environment name. */
export function connectProgram(
  name: string,
  {
    flags: { kubeconfig, osmVersion = '' },
    environment,
  }: Pick<ProgramContext<{ readonly kubeconfig: string; readonly osmVersion?: string }>, 'flags' | 'environment'>,
): Promise<KubernetesApi> {
  return connectKubernetes({
    ...(kubeconfig !== '' && { kubeconfig }),
    userAgent: osmVersion === '' ? name : `${name}/${osmVersion}`,
    environment,
  })
}
