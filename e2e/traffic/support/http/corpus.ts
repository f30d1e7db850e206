import type { Corpus, TrafficPair } from '../types.js'
import { canonicalHttp } from './canonical.js'
import { type HttpClient, httpClients } from './clients.js'
import { httpExchanges } from './exchanges.js'
import { httpExplanations } from './explanations.js'
import { type HttpServer, httpServers } from './servers.js'
import { webSocketExchanges } from './websocket-exchanges.js'

/** Every client with every server that speaks its protocol. */
export function httpCorpus(): Corpus {
  const servers = httpServers()
  return {
    name: 'HTTP',
    servers,
    pairs: httpClients().flatMap((client) =>
      servers.filter((server) => isSpokenBy(server, client)).map((server) => pairOf(client, server)),
    ),
    canonical: canonicalHttp,
    explanations: httpExplanations,
  }
}

function isSpokenBy({ name, speaks }: HttpServer, { protocol, failsWith = [] }: HttpClient): boolean {
  return protocol.startsWith(speaks) && !failsWith.includes(name)
}

function pairOf(client: HttpClient, server: HttpServer): TrafficPair {
  const lacks = [...client.lacks, ...server.lacks]
  const exchanges =
    server.speaks === 'WebSocket'
      ? webSocketExchanges
      : httpExchanges.filter(({ needs }) => !needs.some((feature) => lacks.includes(feature)))
  return { client, server, protocol: client.protocol, exchanges }
}
