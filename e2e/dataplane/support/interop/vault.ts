import { createServer, type TLSSocket } from 'node:tls'

import { testAuthority } from '@osm-ts/driver-testkit'
import { listen } from '@osm-ts/driver-testkit/testing'

import { issueLike } from '../authority.js'
import { NAMESPACE } from './interop-mesh.js'

/** Which certificate the vault shows: its own, that of another workload, or one with all names of the vault that a foreign authority has signed. */
export type VaultIdentity = 'vault' | 'impostor' | 'foreign'

/** A workload of the mesh that the test itself plays, to see what clients accept and what they show. */
export interface Vault {
  readonly port: number
  /** From now on it has this certificate, and trusts callers of the mesh with these roots. */
  readonly become: (identity: VaultIdentity, stateFolder: string) => Promise<void>
  /** Common names of clients that have sent something since it became who it is. */
  readonly callers: () => readonly string[]
  readonly stop: () => Promise<void>
}

const PRINCIPAL = `vault.${NAMESPACE}.cluster.local`
const SERVER_NAME = `vault.${NAMESPACE}.svc.cluster.local`
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

export async function startVault(): Promise<Vault> {
  const foreign = testAuthority('foreign')
  const sockets = new Set<TLSSocket>()
  const callers: string[] = []
  const server = createServer({ requestCert: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const { subject } = socket.getPeerCertificate()
    socket.once('data', () => {
      callers.push(String(subject.CN))
      socket.end(ANSWER)
    })
  })
  // That clients end handshakes is what the test is for.
  server.on('tlsClientError', () => undefined)
  const port = await listen(server, '127.0.0.1', 0)
  return {
    port,
    callers: () => callers,
    become: async (identity, stateFolder) => {
      const { certificate, workloadRoot: ca } = await issueLike(stateFolder, {
        kind: 'service',
        serviceAccount: { namespace: NAMESPACE, name: identity },
        services: identity === 'vault' ? [{ namespace: NAMESPACE, name: 'vault' }] : [],
      })
      const { chain, privateKey } =
        identity === 'foreign'
          ? foreign.issue(PRINCIPAL, { dns: [PRINCIPAL, SERVER_NAME] })
          : { chain: certificate.chain, privateKey: certificate.privateKey() }
      server.setSecureContext({ cert: chain, key: privateKey, ca })
      for (const socket of sockets) socket.destroy()
      callers.length = 0
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
