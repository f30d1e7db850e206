import { javaClass, programPath, script } from '../programs.js'
import { succeeded } from '../succeeded.js'
import type { Corpus, Exchange, Json, TrafficClient, TrafficServer } from '../types.js'
import { grpcExplanations } from './explanations.js'

/** Every client does all of them with every server. */
const exchanges: readonly Exchange[] = [
  'unary',
  'empty-message',
  'large-message',
  'gzip',
  'failure',
  'unimplemented',
  'client-stream',
  'server-stream',
  'bidi-stream',
  'early-end',
  'deadline',
  'cancellation',
  'concurrent',
  'keepalive',
  'health',
].map((name) => ({ name }))

/** gRPC of four languages, each with each. */
export function grpcCorpus(): Corpus {
  const servers = grpcServers()
  return {
    name: 'gRPC',
    servers,
    pairs: grpcClients().flatMap((client) =>
      servers.map((server) => ({
        client,
        server,
        protocol: 'gRPC',
        exchanges,
      })),
    ),
    canonical: canonicalGrpc,
    explanations: grpcExplanations,
  }
}

const languages = {
  go: {
    title: 'grpc-go (Go module)',
    server: (port: string) => [programPath('goGrpcServer'), '-address', `:${port}`],
    client: () => [programPath('goGrpcClient')],
  },
  java: { title: 'grpc-java on Netty (Debian)', server: javaClass('GrpcServer'), client: javaClass('GrpcClient') },
  node: {
    title: '@grpc/grpc-js (npm)',
    server: script('node', 'node-grpc-server.mjs'),
    client: script('node', 'node-grpc-client.mjs'),
  },
  python: {
    title: 'grpcio (PyPI)',
    server: script('python', 'python/grpc_server.py'),
    client: script('python', 'python/grpc_client.py'),
  },
} as const

function grpcServers(): readonly TrafficServer[] {
  return Object.entries(languages).map(([language, { title, server }], i) => {
    const port = 8201 + i
    return { name: `grpc-${language}`, title, port, appProtocol: 'grpc', argv: server(String(port)) }
  })
}

function grpcClients(): readonly TrafficClient[] {
  return Object.entries(languages).map(([language, { title, client }]) => {
    return { name: `grpc-${language}`, title, argv: client() }
  })
}

/** Metadata with several values is one list, whether it came in one line or in several. */
function canonicalGrpc(seen: Json): Json {
  succeeded(seen)
  if (typeof seen !== 'object' || seen === null || !('metadata' in seen)) return seen
  const metadata = Object.entries(seen.metadata as Readonly<Record<string, readonly string[]>>)
  const lists = metadata.map(([name, values]) => [name, values.flatMap((value) => value.split(/, ?/))] as const)
  return { ...seen, metadata: Object.fromEntries(lists) }
}
