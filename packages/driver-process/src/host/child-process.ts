import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setInterval } from 'node:timers'
import { setTimeout as delay } from 'node:timers/promises'

import type { OsmError } from '@osm-ts/driver-api'

import { processError } from '../wire/failure.js'

/** How the process of a package is run. */
export interface ChildProcessOptions {
  /** What it is to people, such as `driver acme`. */
  readonly title: string
  readonly command: readonly [string, ...string[]]
  /** The package, in which it is started. */
  readonly folder: string
  /** Ours. The process gets of it what every program needs, and `variables`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Names of further variables that it gets. */
  readonly variables?: readonly string[]
  /** Largest resident set, in MiB, of the process without any that it starts. Looked at where there is a /proc. */
  readonly residentMb: number
  /** Milliseconds between two looks at the resident set. */
  readonly residentIntervalMs: number
  /** True: it exchanges messages with us. */
  readonly hasMessages?: boolean
}

/** A process of a package. */
export interface RunningChild {
  readonly process: ChildProcess
  /** Resolves with the reason when it has ended. */
  readonly ended: Promise<OsmError>
  /** Kills it with all that it has started. */
  readonly kill: () => void
}

const KEPT_LINES = 10
const KEPT_CHARACTERS = 400
/** Keys and tokens are long words of these letters. What a driver prints ends in our log. */
const LONG_WORD = /[A-Za-z0-9+/=_-]{40,}/g
/** Characters that end or hide a line where it is shown. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** Characters of a line without an end that are looked through for long words. */
const MAX_LINE = 65_536
/** Variables that a driver may need to run at all. Everything else of our environment is not its business. */
const PASSED_VARIABLES = ['PATH', 'TZ', 'LANG', 'TMPDIR']

/** Runs the program of a package as a child process, in its own process group, with a bound on its memory. */
export function runChildProcess(options: ChildProcessOptions): RunningChild {
  const [program, ...args] = options.command
  const child = spawn(program, args, {
    cwd: options.folder,
    env: passedEnvironment(options),
    stdio: ['pipe', 'pipe', 'pipe', ...(options.hasMessages === true ? (['ipc'] as const) : [])],
    detached: true,
  })
  const lastLines = keepLastLines(child)
  let tooLarge: OsmError | undefined
  const watch = setInterval(() => {
    void residentMb(child.pid).then((resident) => {
      if (resident === undefined || resident <= options.residentMb) return
      tooLarge = processError(
        'OSM_DRIVER_MEMORY',
        `the process of ${options.title} had ${resident} MiB in memory, and may have ${options.residentMb}`,
        { process: options.title, residentMb: resident, limitMb: options.residentMb },
      )
      killGroup(child)
    })
  }, options.residentIntervalMs)
  watch.unref()
  const ended = new Promise<OsmError>((resolve) => {
    child.on('error', (cause) =>
      resolve(processError('OSM_DRIVER_EXITED', `${options.title} cannot be run: ${cause.message}`)),
    )
    child.on('close', (code, endedBy) => {
      const how = endedBy === null ? `with exit code ${code}` : `by ${endedBy}`
      const said = lastLines.length === 0 ? '' : `; its last words: ${lastLines.join(' | ')}`
      resolve(tooLarge ?? processError('OSM_DRIVER_EXITED', `the process of ${options.title} ended ${how}${said}`))
    })
  }).finally(() => clearInterval(watch))
  return { process: child, ended, kill: () => killGroup(child) }
}

function passedEnvironment({ environment, variables = [] }: ChildProcessOptions): Record<string, string> {
  return Object.fromEntries(
    [...PASSED_VARIABLES, ...variables].flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/**
 * What the child printed last, on either stream, without what might be a secret. Both are read to the end: a full pipe would stop the child. Long words are looked for in
 * whole lines, as a line may arrive in pieces and is cut off.
 */
function keepLastLines(child: ChildProcess): readonly string[] {
  const lines: string[] = []
  const keep = (line: string): void => {
    if (line.trim() === '') return
    lines.push(line.replace(LONG_WORD, '…').replace(CONTROL, '·').slice(0, KEPT_CHARACTERS))
    if (lines.length > KEPT_LINES) lines.shift()
  }
  for (const stream of [child.stdout, child.stderr]) {
    let begun = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const pieces = `${begun}${text}`.split('\n')
      begun = (pieces.pop() ?? '').slice(0, MAX_LINE)
      for (const line of pieces) keep(line)
    })
    stream?.on('end', () => keep(begun))
  }
  // A child that is gone closes its end while we may still write to it.
  child.stdin?.on('error', () => undefined)
  return lines
}

/** The child and all that it has started. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // There is no one left of it.
  }
}

/** MiB of a process that are in memory; undefined where that can't be told. */
async function residentMb(pid: number | undefined): Promise<number | undefined> {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Math.ceil(Number(kilobytes) / 1024)
  } catch {
    // It has ended, or this system tells such things in another way.
    return undefined
  }
}

/** Waits without keeping the program alive. Resolves with false as soon as the signal aborts, else with true after the time. */
export async function sleepUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
  return !signal.aborted
}
