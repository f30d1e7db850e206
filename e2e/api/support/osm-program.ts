import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const bundle = fileURLToPath(new URL('../../../packages/cli/dist/osm.mjs', import.meta.url))
const timeoutMs = 60_000

/** What `osm` answered. */
export interface OsmAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `osm` with a command line. */
export type OsmProgram = (...args: readonly string[]) => Promise<OsmAnswer>

/** The program as users run it, with a cluster of its own. */
export function osmProgram({ kubeconfig }: { readonly kubeconfig: string }): OsmProgram {
  const env = { PATH: process.env.PATH ?? '', KUBECONFIG: kubeconfig }
  return (...args) =>
    new Promise((resolve, reject) => {
      // A folder without a mesh of this machine.
      const options = { env, cwd: '/', timeout: timeoutMs }
      const child = execFile(process.execPath, [bundle, ...args], options, (error, stdout, stderr) => {
        if (child.exitCode === null)
          reject(error ?? new Error(`osm ${args.join(' ')} was ended by ${child.signalCode}`))
        else resolve({ code: child.exitCode, stdout, stderr })
      })
    })
}
