import type { Corpus, Exchange, TrafficPair } from '../types.js'
import { canonicalHttp } from './canonical.js'
import { type HttpClient, httpClients } from './clients.js'
import { httpExchanges } from './exchanges.js'
import { httpExplanations } from './explanations.js'
import { type HttpServer, httpServers } from './servers.js'
import { pageExchanges } from './page-exchanges.js'
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
  return { client, server, protocol: client.protocol, exchanges: exchangesOf(client, server) }
}

function exchangesOf(client: HttpClient, { speaks, lacks }: HttpServer): readonly Exchange[] {
  switch (speaks) {
    case 'HTTP/1':
    case 'HTTP/2':
      return httpExchanges.filter(
        ({ needs }) => ![...client.lacks, ...lacks].some((feature) => needs.includes(feature)),
      )
    case 'WebSocket':
      return webSocketExchanges
    default:
      return pageExchanges(speaks)
  }
}
