import { fileURLToPath } from 'node:url'

import { programPath } from '../programs.js'
import type { TrafficClient } from '../types.js'
import type { HttpFeature } from './exchanges.js'
import type { PageProtocol } from './page-exchanges.js'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

/** A client of the HTTP corpus. */
export interface HttpClient extends TrafficClient {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2' | 'WebSocket' | PageProtocol
  /** What it can't do, or does not show. */
  readonly lacks: readonly HttpFeature[]
  /** Names of servers with which it fails at times, without a mesh too. */
  readonly failsWith?: readonly string[]
}

const node = (script: string, ...args: readonly string[]): readonly string[] => [
  programPath('node'),
  '--max-http-header-size=131072',
  app(script),
  ...args,
]
const python = (script: string, flavour: string): readonly string[] => [programPath('python'), app(script), flavour]
const tool = (name: string, ...args: readonly string[]): readonly string[] =>
  node('cli-http-client.mjs', name, programPath(name), ...args)
const chromium = (flavour: string): readonly string[] => node('chromium-client.mjs', programPath('chromium'), flavour)
const java = (flavour: string): readonly string[] => [
  programPath('java'),
  ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
  '-Djdk.httpclient.allowRestrictedHeaders=host,connection,expect',
  ...['-cp', programPath('classPath'), 'HttpClientProgram', flavour],
]

/** All clients. */
export function httpClients(): readonly HttpClient[] {
  return [...http10(), ...http11(), ...http2(), ...webSocket(), ...pages()]
}

function http10(): readonly HttpClient[] {
  const protocol = 'HTTP/1.0'
  const lacks: readonly HttpFeature[] = ['chunked request', 'expect', 'trailers', 'early']
  const reports: readonly HttpFeature[] = [
    'methods',
    'errors',
    'gzip',
    'cookies',
    'events',
    'echo',
    'slow',
    'foreign host',
  ]
  return [
    { name: 'curl-1.0', title: 'curl (Debian)', protocol, argv: tool('curl', '1.0'), lacks },
    { name: 'ab', title: 'ab (Debian)', protocol, argv: tool('ab'), lacks: [...lacks, ...reports, 'large headers'] },
    {
      name: 'nginx-1.0',
      title: 'nginx proxy_pass (Debian)',
      protocol,
      argv: node('nginx-http-client.mjs', programPath('nginx'), '1.0', '9300'),
      lacks: [...lacks, 'foreign host', 'by address'],
    },
  ]
}

function http11(): readonly HttpClient[] {
  const protocol = 'HTTP/1.1'
  const usual: readonly HttpFeature[] = ['expect', 'trailers', 'early']
  return [
    { name: 'curl-1.1', title: 'curl (Debian)', protocol, argv: tool('curl', '1.1'), lacks: ['early'] },
    {
      name: 'wget',
      title: 'wget (Debian)',
      protocol,
      argv: tool('wget'),
      lacks: [...usual, 'conditional', 'chunked request', 'reuse'],
    },
    {
      name: 'nginx-1.1',
      title: 'nginx proxy_pass (Debian)',
      protocol,
      argv: node('nginx-http-client.mjs', programPath('nginx'), '1.1', '9400'),
      lacks: [...usual, 'foreign host', 'by address'],
    },
    {
      name: 'http-tiny',
      title: 'Perl HTTP::Tiny (Debian)',
      protocol,
      argv: [programPath('perl'), app('http-tiny.pl')],
      lacks: [...usual, 'foreign host', 'expect'],
    },
    { name: 'node-http', title: 'Node http', protocol, argv: node('node-http-client.mjs', 'http'), lacks: [] },
    {
      name: 'undici',
      title: 'undici (npm)',
      protocol,
      argv: node('node-http-client.mjs', 'undici'),
      lacks: ['expect', 'early'],
    },
    { name: 'go', title: 'Go net/http', protocol, argv: [programPath('goHttpClient'), '1'], lacks: ['early'] },
    {
      name: 'java',
      title: 'Java HttpClient',
      protocol,
      argv: java('jdk'),
      lacks: ['trailers', 'early'],
      failsWith: ['python'],
    },
    {
      name: 'java-upgrade',
      title: 'Java HttpClient, HTTP/2 preferred',
      protocol,
      argv: java('jdk2'),
      lacks: ['trailers', 'early'],
      failsWith: ['python'],
    },
    {
      name: 'apache-client',
      title: 'Apache HttpClient (Debian)',
      protocol,
      argv: java('apache'),
      lacks: ['trailers', 'early'],
    },
    { name: 'python', title: 'Python http.client', protocol, argv: python('http_client.py', 'stdlib'), lacks: usual },
    { name: 'requests', title: 'requests (PyPI)', protocol, argv: python('http_client.py', 'requests'), lacks: usual },
    { name: 'urllib3', title: 'urllib3 (PyPI)', protocol, argv: python('http_client.py', 'urllib3'), lacks: usual },
    {
      name: 'aiohttp',
      title: 'aiohttp (PyPI)',
      protocol,
      argv: python('http_client.py', 'aiohttp'),
      lacks: ['trailers', 'early'],
    },
    { name: 'httpx', title: 'httpx (PyPI)', protocol, argv: python('http_client.py', 'httpx'), lacks: usual },
    {
      name: 'chromium',
      title: 'Chromium (Debian), fetch',
      protocol,
      argv: chromium('fetch'),
      // Some headers are the browser's own, and pages read no answers of another origin.
      lacks: [...usual, 'chunked request', 'closing', 'foreign host', 'by address'],
    },
  ]
}

function http2(): readonly HttpClient[] {
  const protocol = 'HTTP/2'
  return [
    {
      name: 'curl-2',
      title: 'curl (Debian)',
      protocol,
      argv: tool('curl', '2'),
      lacks: ['expect', 'early', 'closing'],
    },
    {
      name: 'node-http2',
      title: 'Node http2',
      protocol,
      argv: node('node-http-client.mjs', 'http2'),
      lacks: ['closing'],
    },
    {
      name: 'go-2',
      title: 'Go net/http',
      protocol,
      argv: [programPath('goHttpClient'), '2'],
      lacks: ['expect', 'early', 'closing'],
    },
    {
      name: 'httpx-2',
      title: 'httpx (PyPI)',
      protocol,
      argv: python('http_client.py', 'httpx2'),
      lacks: ['expect', 'trailers', 'early', 'closing'],
    },
  ]
}

function webSocket(): readonly HttpClient[] {
  const protocol = 'WebSocket'
  return [
    { name: 'ws', title: 'ws (npm)', protocol, argv: node('websocket-client.mjs'), lacks: [] },
    {
      name: 'websockets',
      title: 'websockets (PyPI)',
      protocol,
      argv: python('websocket_client.py', 'websockets'),
      lacks: [],
    },
    {
      name: 'aiohttp-ws',
      title: 'aiohttp (PyPI)',
      protocol,
      argv: python('websocket_client.py', 'aiohttp'),
      lacks: [],
    },
    {
      name: 'chromium-ws',
      title: 'Chromium (Debian)',
      protocol,
      argv: chromium('websocket'),
      lacks: [],
    },
  ]
}

function pages(): readonly HttpClient[] {
  const title = 'Chromium (Debian)'
  return [
    { name: 'chromium-pages', title, protocol: 'pages, HTTP/1.1', argv: chromium('page'), lacks: [] },
    { name: 'chromium-tls', title, protocol: 'pages, HTTP/2 over TLS', argv: chromium('page over TLS'), lacks: [] },
  ]
}
