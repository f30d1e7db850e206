import { fileURLToPath } from 'node:url'

import { programPath } from '../programs.js'
import type { TrafficServer } from '../types.js'
import type { HttpFeature } from './exchanges.js'
import type { PageProtocol } from './page-exchanges.js'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

/** A server of the HTTP corpus. */
export interface HttpServer extends TrafficServer {
  readonly speaks: 'HTTP/1' | 'HTTP/2' | 'WebSocket' | PageProtocol
  /** What it can't do by itself. */
  readonly lacks: readonly HttpFeature[]
}

type Listed = Pick<HttpServer, 'name' | 'title' | 'speaks' | 'lacks'> & {
  readonly argv: (port: string) => readonly string[]
}

const FIRST_PORT = 8101
const streams: readonly HttpFeature[] = ['trailers', 'early']

/** All servers, each on its own port. */
export function httpServers(): readonly HttpServer[] {
  const listed = [...http1(), ...http2(), ...webSocket(), ...pages()]
  return listed.map(({ argv, ...server }, i) => {
    const port = FIRST_PORT + i
    return { ...server, port, appProtocol: appProtocolOf(server.speaks), argv: argv(String(port)) }
  })
}

function appProtocolOf(speaks: HttpServer['speaks']): string {
  if (speaks === 'HTTP/2') return 'kubernetes.io/h2c'
  return speaks === 'pages, HTTP/2 over TLS' ? 'https' : 'http'
}

const node =
  (script: string, ...args: readonly string[]) =>
  (port: string): readonly string[] => [programPath('node'), app(script), ...args, port]
const python =
  (script: string, ...args: readonly string[]) =>
  (port: string): readonly string[] => [programPath('python'), app(script), ...args, port]
const go = (port: string): readonly string[] => [programPath('goHttpServer'), port]

function http1(): readonly Listed[] {
  const speaks = 'HTTP/1'
  const java = (port: string): readonly string[] => [
    programPath('java'),
    ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', programPath('classPath')],
    ...['HttpServerProgram', port],
  ]
  const configured = (name: string): Listed['argv'] => node('configured-server.mjs', name, programPath(name))
  return [
    {
      name: 'nginx',
      title: 'nginx (Debian)',
      speaks,
      argv: configured('nginx'),
      lacks: [...streams, 'events', 'slow'],
    },
    {
      name: 'apache2',
      title: 'Apache httpd (Debian)',
      speaks,
      argv: configured('apache2'),
      lacks: [...streams, 'conditional', 'many headers'],
    },
    { name: 'node-http', title: 'Node http', speaks, argv: node('node-http-server.mjs', 'http1'), lacks: [] },
    { name: 'go', title: 'Go net/http', speaks, argv: go, lacks: [] },
    { name: 'java', title: 'Java HttpServer', speaks, argv: java, lacks: [...streams, 'range', 'closing'] },
    {
      name: 'python',
      title: 'Python http.server, HTTP/1.0',
      speaks,
      argv: python('http_server.py', 'stdlib'),
      lacks: [...streams, 'chunked request', 'expect'],
    },
    { name: 'aiohttp', title: 'aiohttp (PyPI)', speaks, argv: python('http_server.py', 'aiohttp'), lacks: streams },
    { name: 'uvicorn', title: 'uvicorn (PyPI)', speaks, argv: python('http_server.py', 'uvicorn'), lacks: streams },
    { name: 'gunicorn', title: 'gunicorn (PyPI)', speaks, argv: python('http_server.py', 'gunicorn'), lacks: streams },
  ]
}

function http2(): readonly Listed[] {
  const speaks = 'HTTP/2'
  return [
    { name: 'node-http2', title: 'Node http2', speaks, argv: node('node-http-server.mjs', 'http2'), lacks: [] },
    { name: 'go-h2c', title: 'Go net/http', speaks, argv: go, lacks: [] },
    {
      name: 'hypercorn',
      title: 'hypercorn (PyPI)',
      speaks,
      argv: python('http_server.py', 'hypercorn'),
      lacks: [...streams, 'expect'],
    },
    {
      name: 'nginx-http2',
      title: 'nginx (Debian)',
      speaks,
      argv: node('configured-server.mjs', 'nginx-http2', programPath('nginx')),
      lacks: [...streams, 'request body', 'events', 'slow'],
    },
  ]
}

function webSocket(): readonly Listed[] {
  const speaks = 'WebSocket'
  return [
    { name: 'ws', title: 'ws (npm)', speaks, argv: node('websocket-server.mjs'), lacks: [] },
    { name: 'websockets', title: 'websockets (PyPI)', speaks, argv: python('websocket_server.py'), lacks: [] },
    { name: 'aiohttp-ws', title: 'aiohttp (PyPI)', speaks, argv: python('http_server.py', 'aiohttp'), lacks: [] },
    { name: 'uvicorn-ws', title: 'uvicorn (PyPI)', speaks, argv: python('http_server.py', 'uvicorn'), lacks: [] },
  ]
}

function pages(): readonly Listed[] {
  return [
    {
      name: 'pages',
      title: 'Node http, ws (npm)',
      speaks: 'pages, HTTP/1.1',
      argv: node('browser-server.mjs'),
      lacks: [],
    },
    {
      name: 'pages-tls',
      title: 'Node http2',
      speaks: 'pages, HTTP/2 over TLS',
      argv: (port) => [programPath('node'), app('browser-server.mjs'), port, programPath('keys')],
      lacks: [],
    },
  ]
}
