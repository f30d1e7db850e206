import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { readPackageManifest } from '../load/package-manifest.js'
import { runChildProcess } from './child-process.js'
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
    const { ended, kill } = runChildProcess({
      ...options,
      title: `driver ${options.name}`,
      command: [program, ...args, socket],
    })
    return {
      socket,
      folder,
      ended,
      close: async () => {
        kill()
        await ended
        await rm(folder, { recursive: true, force: true })
      },
    }
  }
}
