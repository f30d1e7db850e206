import { javaClass, programPath, script } from '../programs.js'
import type { TrafficClient } from '../types.js'
import type { HttpFeature } from './exchanges.js'
import type { PageProtocol } from './page-exchanges.js'

/** A client of the HTTP corpus. */
export interface HttpClient extends TrafficClient {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2' | 'WebSocket' | PageProtocol
  /** What it can't do, or does not show. */
  readonly lacks: readonly HttpFeature[]
  /** Names of servers with which it fails at times, without a mesh too. */
  readonly failsWith?: readonly string[]
}

const python = (app: string, flavour: string): readonly string[] => script('python', app)(flavour)
/** Headers may be large. */
function node(app: string, ...args: readonly string[]): readonly string[] {
  const [program = '', ...rest] = script('node', app)(...args)
  return [program, '--max-http-header-size=131072', ...rest]
}
const tool = (name: string, ...args: readonly string[]): readonly string[] =>
  node('cli-http-client.mjs', name, programPath(name), ...args)
const nginx = (version: string, port: string): readonly string[] =>
  node('nginx-http-client.mjs', programPath('nginx'), version, port)
const chromium = (flavour: string): readonly string[] => node('chromium-client.mjs', programPath('chromium'), flavour)
const java = javaClass('HttpClientProgram', '-Djdk.httpclient.allowRestrictedHeaders=host,connection,expect')

/** Clients of a protocol. */
function clientsOf(protocol: HttpClient['protocol']) {
  return (
    name: string,
    title: string,
    argv: readonly string[],
    lacks: readonly HttpFeature[] = [],
    more: Pick<HttpClient, 'failsWith'> = {},
  ): HttpClient => ({ name, title, protocol, argv, lacks, ...more })
}

/** All clients. */
export function httpClients(): readonly HttpClient[] {
  return [...http10(), ...http11(), ...http2(), ...webSocket(), ...pages()]
}

function http10(): readonly HttpClient[] {
  const client = clientsOf('HTTP/1.0')
  const lacks: readonly HttpFeature[] = ['chunked request', 'expect', 'trailers', 'early']
  const reports: readonly HttpFeature[] = ['methods', 'errors', 'gzip', 'cookies', 'events', 'echo', 'slow']
  return [
    client('curl-1.0', 'curl (Debian)', tool('curl', '1.0'), lacks),
    client('ab', 'ab (Debian)', tool('ab'), [...lacks, ...reports, 'foreign host', 'large headers']),
    client('nginx-1.0', 'nginx proxy_pass (Debian)', nginx('1.0', '9300'), [...lacks, 'foreign host', 'by address']),
  ]
}

function http11(): readonly HttpClient[] {
  const client = clientsOf('HTTP/1.1')
  const http = (flavour: string): readonly string[] => python('http_client.py', flavour)
  const usual: readonly HttpFeature[] = ['expect', 'trailers', 'early']
  const outside: readonly HttpFeature[] = ['foreign host', 'by address']
  const late: readonly HttpFeature[] = ['trailers', 'early']
  const failing = { failsWith: ['python'] }
  return [
    client('curl-1.1', 'curl (Debian)', tool('curl', '1.1'), ['early']),
    client('wget', 'wget (Debian)', tool('wget'), [...usual, 'conditional', 'chunked request', 'reuse']),
    client('nginx-1.1', 'nginx proxy_pass (Debian)', nginx('1.1', '9400'), [...usual, ...outside]),
    client('http-tiny', 'Perl HTTP::Tiny (Debian)', script('perl', 'http-tiny.pl')(), [
      ...usual,
      'foreign host',
      'expect',
    ]),
    client('node-http', 'Node http', node('node-http-client.mjs', 'http')),
    client('undici', 'undici (npm)', node('node-http-client.mjs', 'undici'), ['expect', 'early']),
    client('go', 'Go net/http', [programPath('goHttpClient'), '1'], ['early']),
    client('java', 'Java HttpClient', java('jdk'), late, failing),
    client('java-upgrade', 'Java HttpClient, HTTP/2 preferred', java('jdk2'), late, failing),
    client('apache-client', 'Apache HttpClient (Debian)', java('apache'), late),
    client('python', 'Python http.client', http('stdlib'), usual),
    client('requests', 'requests (PyPI)', http('requests'), usual),
    client('urllib3', 'urllib3 (PyPI)', http('urllib3'), usual),
    client('aiohttp', 'aiohttp (PyPI)', http('aiohttp'), late),
    client('httpx', 'httpx (PyPI)', http('httpx'), usual),
    // Some headers are the browser's own, and pages read no answers of another origin.
    client('chromium', 'Chromium (Debian), fetch', chromium('fetch'), [
      ...usual,
      'chunked request',
      'closing',
      ...outside,
    ]),
  ]
}

function http2(): readonly HttpClient[] {
  const client = clientsOf('HTTP/2')
  const lacks: readonly HttpFeature[] = ['expect', 'early', 'closing']
  return [
    client('curl-2', 'curl (Debian)', tool('curl', '2'), lacks),
    client('node-http2', 'Node http2', node('node-http-client.mjs', 'http2'), ['closing']),
    client('go-2', 'Go net/http', [programPath('goHttpClient'), '2'], lacks),
    client('httpx-2', 'httpx (PyPI)', python('http_client.py', 'httpx2'), ['expect', 'trailers', 'early', 'closing']),
  ]
}

function webSocket(): readonly HttpClient[] {
  const client = clientsOf('WebSocket')
  return [
    client('ws', 'ws (npm)', node('websocket-client.mjs')),
    client('websockets', 'websockets (PyPI)', python('websocket_client.py', 'websockets')),
    client('aiohttp-ws', 'aiohttp (PyPI)', python('websocket_client.py', 'aiohttp')),
    client('chromium-ws', 'Chromium (Debian)', chromium('websocket')),
  ]
}

function pages(): readonly HttpClient[] {
  const title = 'Chromium (Debian)'
  return [
    clientsOf('pages, HTTP/1.1')('chromium-pages', title, chromium('page')),
    clientsOf('pages, HTTP/2 over TLS')('chromium-tls', title, chromium('page over TLS')),
  ]
}
