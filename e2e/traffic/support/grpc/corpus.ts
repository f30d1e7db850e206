import { fileURLToPath } from 'node:url'

import { programPath } from '../programs.js'
import { succeeded } from '../succeeded.js'
import type { Corpus, Exchange, Json, TrafficClient, TrafficServer } from '../types.js'
import { grpcExplanations } from './explanations.js'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

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

const titles = {
  go: 'grpc-go (Go module)',
  java: 'grpc-java on Netty (Debian)',
  node: '@grpc/grpc-js (npm)',
  python: 'grpcio (PyPI)',
} as const

function grpcServers(): readonly TrafficServer[] {
  const argv: Readonly<Record<keyof typeof titles, (port: string) => readonly string[]>> = {
    go: (port) => [programPath('goGrpcServer'), '-address', `:${port}`],
    java: (port) => [...java('GrpcServer'), port],
    node: (port) => [programPath('node'), app('node-grpc-server.mjs'), port],
    python: (port) => [programPath('python'), app('python/grpc_server.py'), port],
  }
  return languages.map((language, i) => {
    const port = 8201 + i
    return {
      name: `grpc-${language}`,
      title: titles[language],
      port,
      appProtocol: 'grpc',
      argv: argv[language](String(port)),
    }
  })
}

const languages = ['go', 'java', 'node', 'python'] as const

function grpcClients(): readonly TrafficClient[] {
  const argv: Readonly<Record<keyof typeof titles, readonly string[]>> = {
    go: [programPath('goGrpcClient')],
    java: java('GrpcClient'),
    node: [programPath('node'), app('node-grpc-client.mjs')],
    python: [programPath('python'), app('python/grpc_client.py')],
  }
  return languages.map((language) => ({ name: `grpc-${language}`, title: titles[language], argv: argv[language] }))
}

function java(main: string): readonly string[] {
  return [programPath('java'), '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', programPath('classPath'), main]
}

/** Metadata with several values is one list, whether it came in one line or in several. */
function canonicalGrpc(seen: Json): Json {
  succeeded(seen)
  if (typeof seen !== 'object' || seen === null || !('metadata' in seen)) return seen
  const metadata = Object.entries(seen.metadata as Readonly<Record<string, readonly string[]>>)
  const lists = metadata.map(([name, values]) => [name, values.flatMap((value) => value.split(/, ?/))] as const)
  return { ...seen, metadata: Object.fromEntries(lists) }
}
