import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { SpawnCommand, WorkloadNetwork } from '@osm-ts/standalone/testing'

import { endProcess } from '../../api/harness/child-program.js'

/** A server in a network namespace. */
export interface AppInside {
  readonly network: Pick<WorkloadNetwork, 'command'>
  /** What it calls itself. */
  readonly name: string
  /** Program of the data-plane tier. */
  readonly program: string
  readonly port: number
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a server in a network namespace, and resolves with the way to end it once it listens. */
export async function startAppInside(app: AppInside): Promise<() => Promise<void>> {
  const { network, name, program, port, environment } = app
  const script = fileURLToPath(new URL(`../../dataplane/support/apps/${program}.mjs`, import.meta.url))
  const { file, args }: SpawnCommand = network.command([process.execPath, script])
  const child = spawn(file, args, {
    env: { ...process.env, HOST: '0.0.0.0', PORT: String(port), NAME: name, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = (): Promise<void> => endProcess(child, 'SIGKILL')
  const [line] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as readonly unknown[]
  if (String(line).includes('listening')) return stop
  await stop()
  throw new Error(`${program} of ${name} did not start: ${String(line)}`)
}
