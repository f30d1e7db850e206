import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { testAuthority } from '@osm-ts/driver-testkit'
import { freePort } from '../api/support/controller-process.js'

import { isListening } from './local-api.js'
import { type Address, LOOPBACK, type PlainPair, PlainProcesses } from './plain-processes.js'

/**
 * Two Pipys with the shortest scripts that do: HTTP in, mutual TLS between them, HTTP out. Nothing is checked but the chain of a certificate, so that no
 * sidecar can be as fast.
 */
export function startPlainPipys(pipy: string, folder: string, server: Address): Promise<PlainPair> {
  return PlainProcesses.pair(pipy, folder, async (processes) => {
    const authority = testAuthority('plain')
    const { chain, privateKey: key } = authority.issue('server.plain')
    const root = authority.certificate
    const tls = `{ certificate: { cert: new crypto.CertificateChain(${JSON.stringify(chain)}), key: new crypto.PrivateKey(${JSON.stringify(key)}) }, trusted: [new crypto.Certificate(${JSON.stringify(root)})] }`
    const [inbound, outbound] = [
      { host: LOOPBACK, port: await freePort() },
      { host: LOOPBACK, port: await freePort() },
    ]
    await run(
      processes,
      'server',
      inbound,
      `$.acceptTLS(${tls}).to($ => $.demuxHTTP().to($ => $.muxHTTP(() => 1, { maxQueue: 1 }).to($ => $.connect('${text(server)}'))))`,
    )
    await run(
      processes,
      'client',
      outbound,
      `$.demuxHTTP().to($ => $.muxHTTP(() => 1, { maxQueue: 1 }).to($ => $.connectTLS(Object.assign(${tls}, { sni: 'server.plain' })).to($ => $.connect('${text(inbound)}'))))`,
    )
    return outbound
  })
}

async function run(processes: PlainProcesses, name: string, at: Address, filters: string): Promise<void> {
  const script = join(processes.folder, `${name}.js`)
  await writeFile(script, `pipy.listen('${text(at)}', $ => ${filters})\n`, { mode: 0o600 })
  await processes.run(`the Pipy of the ${name}`, [script], () => isListening(at))
}

function text({ host, port }: Address): string {
  return `${host}:${port}`
}
