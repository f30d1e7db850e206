import { javaClass, programPath, script } from '../programs.js'
import type { TrafficServer } from '../types.js'
import type { HttpFeature } from './exchanges.js'
import type { PageProtocol } from './page-exchanges.js'

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

type Argv = Listed['argv']

const node = (app: string, ...args: readonly string[]): Argv => {
  return (port) => script('node', app)(...args, port)
}
const python = (app: string, ...args: readonly string[]): Argv => {
  return (port) => script('python', app)(...args, port)
}
const go: Argv = (port) => [programPath('goHttpServer'), port]
const nodeHttp = (version: string): Argv => node('node-http-server.mjs', version)
const pythonHttp = (library: string): Argv => python('http_server.py', library)
const configured = (name: string, program = name): Argv => node('configured-server.mjs', name, programPath(program))

/** Servers of a protocol. */
function serversOf(speaks: HttpServer['speaks']) {
  return (name: string, title: string, argv: Argv, lacks: readonly HttpFeature[] = []): Listed => {
    return { name, title, speaks, argv, lacks }
  }
}

function http1(): readonly Listed[] {
  const server = serversOf('HTTP/1')
  return [
    server('nginx', 'nginx (Debian)', configured('nginx'), [...streams, 'events', 'slow']),
    server('apache2', 'Apache httpd (Debian)', configured('apache2'), [...streams, 'conditional', 'many headers']),
    server('node-http', 'Node http', nodeHttp('http1')),
    server('go', 'Go net/http', go),
    server('java', 'Java HttpServer', javaClass('HttpServerProgram'), [...streams, 'range', 'closing']),
    server('python', 'Python http.server, HTTP/1.0', pythonHttp('stdlib'), [...streams, 'chunked request', 'expect']),
    server('aiohttp', 'aiohttp (PyPI)', pythonHttp('aiohttp'), streams),
    server('uvicorn', 'uvicorn (PyPI)', pythonHttp('uvicorn'), streams),
    server('gunicorn', 'gunicorn (PyPI)', pythonHttp('gunicorn'), streams),
  ]
}

function http2(): readonly Listed[] {
  const server = serversOf('HTTP/2')
  const nginx = configured('nginx-http2', 'nginx')
  return [
    server('node-http2', 'Node http2', nodeHttp('http2')),
    server('go-h2c', 'Go net/http', go),
    server('hypercorn', 'hypercorn (PyPI)', pythonHttp('hypercorn'), [...streams, 'expect']),
    server('nginx-http2', 'nginx (Debian)', nginx, [...streams, 'request body', 'events', 'slow']),
  ]
}

function webSocket(): readonly Listed[] {
  const server = serversOf('WebSocket')
  return [
    server('ws', 'ws (npm)', node('websocket-server.mjs')),
    server('websockets', 'websockets (PyPI)', python('websocket_server.py')),
    server('aiohttp-ws', 'aiohttp (PyPI)', pythonHttp('aiohttp')),
    server('uvicorn-ws', 'uvicorn (PyPI)', pythonHttp('uvicorn')),
  ]
}

function pages(): readonly Listed[] {
  const withKeys: Argv = (port) => script('node', 'browser-server.mjs')(port, programPath('keys'))
  return [
    serversOf('pages, HTTP/1.1')('pages', 'Node http, ws (npm)', node('browser-server.mjs')),
    serversOf('pages, HTTP/2 over TLS')('pages-tls', 'Node http2', withKeys),
  ]
}
