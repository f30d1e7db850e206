import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setInterval } from 'node:timers'

import type { OsmError } from '@osm-ts/driver-api'

import { readPackageManifest } from '../load/package-manifest.js'
import { processError } from '../wire/failure.js'
import type { OpenEndpoint } from './endpoint.js'

/** How the process of a driver is run. */
export interface CommandOptions {
  /** Sidecar class, for people. */
  readonly name: string
  /** A program and its arguments; the path of the socket that it has to serve on is added. It has to end when its standard input does. */
  readonly command: readonly [string, ...string[]]
  /** The package, in which it is started. */
  readonly folder: string
  /** Ours. The process gets of it what every program needs, and nothing else. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Largest resident set, in MiB, of the process without any that it starts. Looked at where there is a /proc. */
  readonly residentMb: number
  /** Milliseconds between two looks at the resident set. */
  readonly residentIntervalMs: number
}

/** How a driver package is run. */
export interface ChildOptions extends Omit<CommandOptions, 'command'> {
  /** Bundle of the program that serves a package whose driver is a module. */
  readonly program: string
  /** Largest heap of that program, in MiB. */
  readonly heapMb: number
}

const KEPT_LINES = 10
const KEPT_CHARACTERS = 400
/** Keys and tokens are long words of these letters. What a driver prints ends in our log. */
const LONG_WORD = /[A-Za-z0-9+/=_-]{40,}/g
/** Variables that a driver may need to run at all. Everything else of our environment is not its business. */
const PASSED_VARIABLES = ['PATH', 'TZ', 'LANG', 'TMPDIR']

/** Runs a driver package as a child process: the command that it names, or the program that serves its main module. */
export function childEndpoint({ program, heapMb, ...options }: ChildOptions): OpenEndpoint {
  return async (signal) => {
    const { command } = await readPackageManifest(options.folder)
    const serve = [process.execPath, `--max-old-space-size=${heapMb}`, program, options.folder] as const
    return commandEndpoint({ ...options, command: command ?? serve })(signal)
  }
}

/** Runs the program of a driver as a child process, in its own process group, with a bound on its memory. */
export function commandEndpoint(options: CommandOptions): OpenEndpoint {
  return async (signal) => {
    signal.throwIfAborted()
    const folder = await mkdtemp(join(tmpdir(), 'osm-driver-'))
    const socket = join(folder, 'driver.sock')
    const [program, ...args] = options.command
    const child = spawn(program, [...args, socket], {
      cwd: options.folder,
      env: passedEnvironment(options.environment),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    const lastLines = keepLastLines(child)
    let tooLarge: OsmError | undefined
    const watch = setInterval(() => {
      void residentMb(child.pid).then((resident) => {
        if (resident === undefined || resident <= options.residentMb) return
        tooLarge = processError(
          'OSM_DRIVER_MEMORY',
          `the process of driver ${options.name} had ${resident} MiB in memory, and may have ${options.residentMb}`,
          { driver: options.name, residentMb: resident, limitMb: options.residentMb },
        )
        killGroup(child)
      })
    }, options.residentIntervalMs)
    watch.unref()
    const ended = new Promise<Error>((resolve) => {
      child.on('error', (cause) =>
        resolve(processError('OSM_DRIVER_EXITED', `driver ${options.name} cannot be run: ${cause.message}`)),
      )
      child.on('close', (code, endedBy) => {
        clearInterval(watch)
        const how = endedBy === null ? `with exit code ${code}` : `by ${endedBy}`
        const said = lastLines.length === 0 ? '' : `; its last words: ${lastLines.join(' | ')}`
        resolve(
          tooLarge ?? processError('OSM_DRIVER_EXITED', `the process of driver ${options.name} ended ${how}${said}`),
        )
      })
    })
    return {
      socket,
      folder,
      ended,
      close: async () => {
        clearInterval(watch)
        killGroup(child)
        await ended
        await rm(folder, { recursive: true, force: true })
      },
    }
  }
}

function passedEnvironment(environment: CommandOptions['environment']): Record<string, string> {
  return Object.fromEntries(
    PASSED_VARIABLES.flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** What the child printed last, on either stream, without what might be a secret. Both are read to the end: a full pipe would stop the child. */
function keepLastLines(child: ChildProcess): readonly string[] {
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n')) {
        if (line.trim() === '') continue
        lines.push(line.slice(0, KEPT_CHARACTERS).replace(LONG_WORD, '…'))
        if (lines.length > KEPT_LINES) lines.shift()
      }
    })
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
