import { succeeded } from '../succeeded.js'
import type { Corpus } from '../types.js'
import { tcpClients } from './clients.js'
import { tcpServers } from './servers.js'

/** Databases, brokers, mail, SSH and TLS: each client with the server of its protocol. */
export function tcpCorpus(): Corpus {
  const servers = tcpServers()
  return {
    name: 'TCP',
    servers,
    pairs: tcpClients().flatMap(({ protocol, server, exchanges, ...client }) =>
      servers
        .filter(({ name }) => name === server)
        .map((found) => ({ client, server: found, protocol, exchanges: exchanges.map((name) => ({ name })) })),
    ),
    canonical: succeeded,
    // Sidecars carry bytes: nothing may differ.
    explanations: [],
  }
}
