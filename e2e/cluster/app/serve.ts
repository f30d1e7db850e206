import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { errorMessage } from '@osm-ts/driver-api/toolkit'
import {
  Connections,
  perform,
  type App,
  type Call,
  type Certificate,
  createApp,
  listen,
} from '@osm-ts/driver-testkit/testing'

const apps: readonly App[] = [
  'http',
  'http2',
  'https',
  'grpc',
  'grpc-tls',
  'tcp',
  'tcp-server-first',
  'connect-proxy',
  'socks-proxy',
]

const longTimeMs = 1 << 30

/** A port, and how it answers. */
export interface ServedPort {
  readonly port: number
  readonly app: App
}

/**
 * Serves on `--host`, on all addresses without it, until it is told to end, and then for as long as `--linger` says: callers learn of its end later than
 * it does. With `--control` it also makes calls, one for each POST of a call as JSON.
 */
export async function serve(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      control: { type: 'string' },
      host: { type: 'string' },
      linger: { type: 'string', default: '5' },
      certificate: { type: 'string' },
    },
  })
  const speaker = { server: env.NAME ?? 'app', instance: env.HOSTNAME ?? '' }
  const certificate = values.certificate === undefined ? undefined : readCertificate(values.certificate)
  const servers: { readonly server: ReturnType<typeof createApp>; readonly port: number }[] = positionals
    .map(parseServedPort)
    .map(({ port, app }) => ({ server: createApp(app, speaker, certificate), port }))
  if (values.control !== undefined) servers.push({ server: controlServer(), port: Number(values.control) })
  for (const { server, port } of servers) await listen(server, values.host, port)
  process.stdout.write(`${JSON.stringify({ ...speaker, ports: servers.map(({ port }) => port) })}\n`)
  // Nothing else keeps a workload going that serves nothing.
  const awake = setInterval(() => undefined, longTimeMs)
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  clearInterval(awake)
  await sleep(Number(values.linger) * 1000)
  process.exit(0)
}

/** Reads `<port>=<app>`. */
export function parseServedPort(text: string): ServedPort {
  const [number = '', name] = text.split('=')
  const port = Number(number)
  const app = apps.find((known) => known === name)
  if (!Number.isInteger(port) || port < 1 || app === undefined)
    throw new Error(`${text}: expected <port>=<app>, where the application is one of ${apps.join(', ')}`)
  return { port, app }
}

function readCertificate(folder: string): Certificate {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  return { chain: read('tls.crt'), privateKey: read('tls.key') }
}

function controlServer(): Server {
  const connections = new Connections()
  return createServer((request, response) => {
    void answer(request, response, connections)
  })
}

async function answer(request: IncomingMessage, response: ServerResponse, connections: Connections): Promise<void> {
  try {
    const made = await perform((await json(request)) as Call, connections)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(made))
  } catch (error) {
    response.writeHead(400).end(errorMessage(error))
  }
}
