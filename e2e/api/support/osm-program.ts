import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { root } from '../../../tools/lib/paths.mjs'
import { atTerminal } from './at-terminal.js'

const bundle = join(root, 'packages/cli/dist/osm.mjs')
const timeoutMs = 120_000

/** Which cluster a program is for, and where it keeps what it keeps. */
export interface OsmProgramOptions {
  readonly kubeconfig: string
  /** Home folder; none if absent. */
  readonly home?: string
  /** Path of helm; that of the run if absent. */
  readonly helm?: string
}

/** What `osm` answered. */
export interface OsmAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `osm` with a command line. */
export type OsmProgram = (...args: readonly string[]) => Promise<OsmAnswer>

/** The program as users run it, with its own cluster. */
export function osmProgram(options: OsmProgramOptions): OsmProgram {
  const env = environmentOf(options)
  return (...args) =>
    new Promise((resolve, reject) => {
      // A folder without a mesh of this machine.
      const where = { env, cwd: '/', timeout: timeoutMs }
      const child = execFile(process.execPath, [bundle, ...args], where, (error, stdout, stderr) => {
        if (child.exitCode === null)
          reject(error ?? new Error(`osm ${args.join(' ')} was ended by ${child.signalCode}`))
        else resolve({ code: child.exitCode, stdout, stderr })
      })
    })
}

/** A page that `osm dashboard` serves. */
export interface ServedPage {
  readonly url: string
  readonly stop: () => Promise<void>
}

/**
 * Runs `osm dashboard` until it is stopped.
 *
 * @param args - that name the mesh
 */
export async function servedDashboard(options: OsmProgramOptions, ...args: readonly string[]): Promise<ServedPage> {
  const command = [bundle, 'dashboard', '--local-port', '0', '--open-browser=false', ...args]
  const child = spawn(process.execPath, command, {
    env: environmentOf(options),
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (said += piece.toString()))
  const ended = once(child, 'close')
  const url = await Promise.race([
    (async () => {
      for await (const line of createInterface({ input: child.stdout })) {
        const [found] = /http:\/\/\S+/.exec(line) ?? []
        if (found !== undefined) return found
      }
      return undefined
    })(),
    ended.then(() => undefined),
  ])
  if (url === undefined) throw new Error(`osm dashboard ${args.join(' ')} has ended: ${said.trim()}`)
  child.stdout.resume()
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The same at a terminal, where somebody types these lines. */
export function osmAtTerminal(
  options: OsmProgramOptions,
): (typed: readonly string[], ...args: readonly string[]) => ReturnType<typeof atTerminal> {
  const env = { ...environmentOf(options), NO_COLOR: '1' }
  return (typed, ...args) => atTerminal([process.execPath, bundle, ...args], typed, { env, timeoutMs })
}

function environmentOf({ kubeconfig, home, helm = process.env.HELM_BIN }: OsmProgramOptions): NodeJS.ProcessEnv {
  const { PATH = '' } = process.env
  return {
    PATH,
    KUBECONFIG: kubeconfig,
    ...(helm !== undefined && { HELM_BIN: helm }),
    ...(home !== undefined && { HOME: home }),
  }
}
