import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { ClusterError } from './provider.js'

/** How to run a command. */
export interface CommandOptions {
  readonly input?: string
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Two minutes when left out. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/** How a command ended. */
export interface CommandResult {
  /** Exit code; undefined when a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program without a shell, to its end. A failure is a result; a program that can't be started is not. */
export async function tryCommand(
  file: string,
  args: readonly string[],
  { input = '', env, timeoutMs = 120_000, signal }: CommandOptions = {},
): Promise<CommandResult> {
  signal?.throwIfAborted()
  const timeout = AbortSignal.timeout(timeoutMs)
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    killSignal: 'SIGKILL',
  })
  // A program that ends without reading its input says why by its status.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? undefined))
  })
  try {
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  } catch (error) {
    signal?.throwIfAborted()
    const command = [file, ...args].join(' ')
    if (timeout.aborted)
      throw new ClusterError(`"${command}" was still running after ${timeoutMs} ms`, { cause: error })
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new ClusterError(`${file} is not installed`, { cause: error })
    throw error
  }
}

/** Runs a program without a shell and gives its standard output; throws what it said if it fails. */
export async function runCommand(file: string, args: readonly string[], options?: CommandOptions): Promise<string> {
  const { code, stdout, stderr } = await tryCommand(file, args, options)
  if (code === 0) return stdout
  const said = stderr.trim() === '' ? stdout.trim() : stderr.trim()
  throw new ClusterError(`"${[file, ...args].join(' ')}" failed with ${code ?? 'a signal'}: ${said.slice(-2000)}`)
}
