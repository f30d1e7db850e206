import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { programs } from '../mesh.js'
import { ARRIVALS, BARE, BARE_ADDRESS, HTTP_PORT, TCP_PORT } from './topology.js'

/** The server of the topology that no sidecar is in front of. */
export interface Bare {
  readonly stop: () => Promise<void>
}

/** Starts the server that runs beside the mesh, at the address that the topology says. */
export async function startBare(): Promise<Bare> {
  const ports = { PORT_HTTP: String(HTTP_PORT), PORT_TCP: String(TCP_PORT) }
  const env = { ...process.env, NAME: BARE, HOST: BARE_ADDRESS, ARRIVALS, ...ports }
  const child = spawn(process.execPath, [programs.httpAndTcp], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const begun = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
  if (begun === undefined) throw new Error(`the server at ${BARE_ADDRESS} has ended`)
  return {
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
