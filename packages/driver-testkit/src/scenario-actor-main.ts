import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline'

import { Connections, perform } from './actor/connections.js'
import type { Answered, App, Asked, Certificate, Hello } from './actor/protocol.js'
import { createApp, listen } from './actor/servers.js'

// Plays a workload of a scenario: serves its ports, and calls others when the runner says so.
const {
  ACTOR = 'actor',
  CONTROL = '',
  PORTS = '{}',
  CERTIFICATE,
  HOST = '127.0.0.1',
  BIND,
  HOSTNAME = '',
} = process.env
const ports = JSON.parse(PORTS) as Readonly<Record<string, App>>
const certificate = CERTIFICATE === undefined ? undefined : (JSON.parse(CERTIFICATE) as Certificate)
const speaker = { server: ACTOR.slice(ACTOR.indexOf('/') + 1), instance: HOSTNAME }
const address = ownAddress()
const host = BIND === 'own' ? (address ?? noAddress()) : HOST

for (const [name, app] of Object.entries(ports)) {
  const port = Number(process.env[`PORT_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`])
  await listen(createApp(app, speaker, certificate), host, port)
}

const connections = new Connections()
const control = connect({ path: CONTROL })
const say = (line: Hello | Answered): void => void control.write(`${JSON.stringify(line)}\n`)
control.on('error', (error) => {
  console.error(error.message)
  process.exit(1)
})
// Without a runner there is no one to play for.
control.on('close', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
say({
  actor: ACTOR,
  instance: `${ACTOR.split('/')[0] ?? ''}/${HOSTNAME}`,
  ...(address !== undefined && { address }),
})
createInterface({ input: control }).on('line', (line) => {
  const { id, call } = JSON.parse(line) as Asked
  void perform(call, connections).then((answer) => say({ id, answer }))
})

/** The address by which others reach this machine, or network namespace, and not the loopback address. */
function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address
}

function noAddress(): never {
  throw new Error(`${ACTOR} has no address of its own`)
}
