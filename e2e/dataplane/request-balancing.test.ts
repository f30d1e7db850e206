import { Agent, request as httpRequest } from 'node:http'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { callOver, withHttp2 } from './support/http2-call.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, service, workload } from './support/yaml.js'

const REQUESTS = 12
const instances = ['one', 'two']

/** A service with an instance of each name. */
function store(name: 'store' | 'stream', appProtocol: string, program: string): readonly string[] {
  return [
    account(`shop/${name}`),
    ...instances.map((instance) =>
      workload(`shop/${name}-${instance}`, {
        program,
        port: 8080,
        app: name,
        account: name,
        env: { NAME: instance },
      }),
    ),
    service(`shop/${name}`, name, 8080, { protocol: appProtocol }),
  ]
}

/** What came over one connection of the client. */
interface OverOneConnection {
  /** Instances that answered, each once, sorted. */
  readonly servers: readonly string[]
  readonly connections: number
}

describe('requests of one connection', () => {
  let mesh: TestMesh

  function config(perRequest: boolean): string {
    return meshConfig({
      traffic: {
        enablePermissiveTrafficPolicyMode: true,
        enableEgress: false,
        http1PerRequestLoadBalancing: perRequest,
        http2PerRequestLoadBalancing: perRequest,
      },
    })
  }

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [config(false)],
      'workloads.yaml': [
        account('shop/client'),
        workload('shop/client', { program: programs.idle }),
        ...store('store', 'http', programs.http),
        ...store('stream', 'http2', programs.http2),
      ],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it.each([false, true])('reach every instance, with the switches for single requests at %s', async (perRequest) => {
    // The mesh has started with them off.
    if (perRequest) await mesh.apply('config.yaml', config(true))
    const policy = await mesh.debug(`/debug/policy?uuid=${mesh.instance('shop/client').uuid}`)
    expect(policy).toMatch(new RegExp(`"http1PerRequestLoadBalancing":\\s*${perRequest}`))
    expect(policy).toMatch(new RegExp(`"http2PerRequestLoadBalancing":\\s*${perRequest}`))
    // Endpoints come one after the other; each round has its own connection, and all of its requests are sent by it.
    for (const [ask, what] of [
      [overHttp1, 'every instance over a connection of HTTP/1.1'],
      [overHttp2, 'every instance over a connection of HTTP/2'],
    ] as const) {
      const everyInstance = { servers: instances, connections: 1 }
      const accept = (answer: OverOneConnection): boolean => JSON.stringify(answer) === JSON.stringify(everyInstance)
      await eventually(
        () =>
          ask(mesh.proxyOf('shop/client')).catch((error: unknown) => ({ servers: [String(error)], connections: 0 })),
        accept,
        { what },
      )
    }
  })
})

/** Sends requests over one connection that is kept, one after the other. */
async function overHttp1(proxyUrl: string): Promise<OverOneConnection> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { hostname, port } = new URL(proxyUrl)
  const servers = new Set<string>()
  const connections = new Set<number | undefined>()
  try {
    for (let sent = 0; sent < REQUESTS; sent += 1) {
      const { body, localPort } = await new Promise<{ body: string; localPort: number | undefined }>(
        (resolve, reject) => {
          const request = httpRequest({ agent, hostname, port, path: 'http://store.shop:8080/' })
          request.once('error', reject)
          request.once('response', (response) => {
            const { localPort } = response.socket
            let body = ''
            response.on('data', (chunk: Buffer) => (body += chunk.toString()))
            response.once('error', reject)
            response.once('end', () => resolve({ body, localPort }))
          })
          request.end()
        },
      )
      servers.add(serverIn(body))
      connections.add(localPort)
    }
  } finally {
    agent.destroy()
  }
  return { servers: [...servers].sort(), connections: connections.size }
}

/** Sends requests over one connection, one after the other. */
function overHttp2(proxyUrl: string): Promise<OverOneConnection> {
  return withHttp2(proxyUrl, async (session) => {
    const servers = new Set<string>()
    for (let sent = 0; sent < REQUESTS; sent += 1) {
      const { body } = await callOver(session, 'http://stream.shop:8080/', 'get')
      servers.add(serverIn(body.toString()))
    }
    return { servers: [...servers].sort(), connections: 1 }
  })
}

/** The instance that has answered; else the answer itself, such as that there is no one yet. */
function serverIn(body: string): string {
  return body.startsWith('{') ? (JSON.parse(body) as { readonly server: string }).server : body
}
