import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestHttp } from 'node:http'
import { request } from 'node:https'

import type { Credential } from '@osm-ts/driver-api'

import type { PeerName } from './attacks.js'

const DISCOVERY = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
/** A first request under the node id of another proxy, in a gRPC message: an authenticated proxy has its answer at once, whatever its policy is. */
const firstRequest = grpcMessage(field(1, field(1, 'another').toString()))
const review = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u', kind: { group: '', version: 'v1', kind: 'Pod' }, operation: 'CREATE', object: {} },
})

/** Where servers listen, and what their peers need. */
export interface AttackedServers {
  readonly ports: Readonly<Record<'xds' | 'repo' | 'webhook' | 'health' | 'debug', number>>
  readonly roots: string
  readonly pipyRoots: string
  readonly envoy: Credential
  readonly pipy: Credential
}

/** What the process of the servers says about itself since it was last asked. */
export interface ServerFigures {
  readonly longestBlockMs: number
  readonly maxRssBytes: number
}

/** Peers of servers: each connects again and resolves when it has its answer. */
export function peersOf({ ports, ...keys }: AttackedServers): Readonly<Record<PeerName, () => Promise<void>>> {
  const ask = async (name: 'repo' | 'webhook', method: string, path: string, tls: object, body = ''): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const settings = { host: '127.0.0.1', port: ports[name], agent: false, checkServerIdentity: () => undefined }
    const asking = request({ ...settings, method, path, headers, ...tls })
    const answer = once(asking, 'response') as Promise<[{ destroy(): void }]>
    asking.end(body)
    const [response] = await answer
    response.destroy()
  }
  return {
    proxy: () => connectProxy(ports.xds, { ca: keys.roots, cert: keys.envoy.chain, key: keys.envoy.privateKey }),
    worker: () =>
      ask('repo', 'GET', '/repo/', { ca: keys.pipyRoots, cert: keys.pipy.chain, key: keys.pipy.privateKey }),
    review: () => ask('webhook', 'POST', '/validate', { ca: keys.roots }, review),
    health: async () => {
      const status = await statusOf(ports.health, '/health/alive')
      if (status !== 200) throw new Error(`health answers ${status}`)
    },
  }
}

async function connectProxy(port: number, tls: object): Promise<void> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ...tls, checkServerIdentity: () => undefined })
  try {
    const failed = once(session, 'error').then(([error]) => Promise.reject(error as Error))
    const headers = { ':method': 'POST', ':path': DISCOVERY, 'content-type': 'application/grpc', te: 'trailers' }
    const stream = session.request(headers)
    stream.on('error', () => undefined)
    stream.write(firstRequest)
    await Promise.race([once(stream, 'response'), failed])
  } finally {
    session.destroy()
  }
}

async function statusOf(port: number, path: string): Promise<number | undefined> {
  const asking = requestHttp({ host: '127.0.0.1', port, path, agent: false }).end()
  const [response] = (await once(asking, 'response')) as [{ statusCode?: number; destroy(): void }]
  response.destroy()
  return response.statusCode
}

function grpcMessage(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A field of text in the wire format of Protocol Buffers; the text has at most 127 characters. */
function field(number: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, text.length]), Buffer.from(text)])
}
