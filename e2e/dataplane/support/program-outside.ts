import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { endProcess } from '../../api/harness/child-program.js'
import { run } from './kernel.js'
import { programs } from './mesh.js'

/** A server without a sidecar, outside the networks of workloads. */
export interface ProgramOutside {
  readonly address: string
  readonly stop: () => Promise<void>
}

/**
 * Starts a server on this machine, which workloads reach at the gateway of their network.
 *
 * @param peer - address of a workload that is to reach it
 * @param name - what it calls itself
 */
export async function startOutside(
  peer: string,
  name: string,
  ports: { readonly http: number; readonly tcp: number },
): Promise<ProgramOutside> {
  const [route] = JSON.parse(run('ip', ['-j', 'route', 'get', peer])) as readonly { readonly prefsrc: string }[]
  if (route === undefined) throw new Error(`no route to ${peer}`)
  const { prefsrc: address } = route
  const env = { ...process.env, NAME: name, HOST: address, PORT_HTTP: String(ports.http), PORT_TCP: String(ports.tcp) }
  const child = spawn(process.execPath, [programs.httpAndTcp], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return {
    address,
    stop: () => endProcess(child),
  }
}
