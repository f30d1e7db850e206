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
  return startAt(address, name, ports)
}

/** Starts such a server at an address of this machine. */
export async function startAt(
  address: string,
  name: string,
  ports: { readonly http: number; readonly tcp: number },
  environment: Readonly<Record<string, string>> = {},
): Promise<ProgramOutside> {
  const own = { NAME: name, HOST: address, PORT_HTTP: String(ports.http), PORT_TCP: String(ports.tcp) }
  const env = { ...process.env, ...own, ...environment }
  const child = spawn(process.execPath, [programs.httpAndTcp], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const begun = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => undefined)])
  if (begun === undefined) throw new Error(`the server at ${address} has ended`)
  return { address, stop: () => endProcess(child) }
}
