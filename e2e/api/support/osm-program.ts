import { execFile } from 'node:child_process'
import { join } from 'node:path'

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
