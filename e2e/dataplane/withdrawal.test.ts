import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { type OpenConnection, openUpgrade } from './support/traffic.js'
import { account, egress, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

/** Short, so that a test can wait for it. */
const WITHDRAWAL_MS = 2000
/** Streams that keep their access go on for this long after others have lost theirs. */
const AFTERWARDS_MS = 3 * WITHDRAWAL_MS

/** No load keeps an answer for so long. */
const ANSWER_MS = 120_000

/** A response that goes on until one side ends it. */
interface EventStream {
  readonly status: number
  readonly ended: () => boolean
  readonly events: () => number
  readonly stop: () => void
}

async function openEvents(proxyUrl: string, url: string): Promise<EventStream> {
  const { hostname, port } = new URL(proxyUrl)
  const request = httpRequest({ host: hostname, port, path: url, headers: { host: new URL(url).host }, agent: false })
  request.on('error', () => undefined)
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let events = 0
  let ended = false
  response.on('data', () => (events += 1))
  response.on('error', () => undefined)
  response.on('close', () => (ended = true))
  return {
    status: response.statusCode ?? 0,
    ended: () => ended,
    events: () => events,
    stop: () => void request.destroy(),
  }
}

/** A server outside the mesh that echoes upgraded streams. */
async function startOutside(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((_request, response) => response.end('outside'))
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

const allow = (to: string, from: readonly string[]): string =>
  trafficTarget(`shop/${to}`, {
    to: `shop/${to}`,
    from: from.map((name) => `shop/${name}` as const),
    rules: [{ kind: 'HTTPRouteGroup', name: 'all', matches: ['all'] }],
  })

describe('streams of callers that lose their access, on real Envoys', () => {
  let mesh: TestMesh
  let outside: Awaited<ReturnType<typeof startOutside>>
  const ends: (() => void)[] = []
  const upgrade = async (url: string): Promise<OpenConnection> => {
    const connection = await openUpgrade(mesh.proxyOf('shop/client'), url)
    ends.push(() => connection.socket.destroy())
    await expect(connection.ask('ping', ANSWER_MS)).resolves.toBe('ping')
    return connection
  }
  const events = async (url: string): Promise<EventStream> => {
    const stream = await openEvents(mesh.proxyOf('shop/client'), url)
    ends.push(stream.stop)
    expect(stream.status).toBe(200)
    return stream
  }
  const opened = (host: string, name: string): string =>
    egress(`shop/${name}`, {
      from: ['shop/client'],
      hosts: [host],
      ports: [`${outside.port}/http`],
    })

  beforeAll(async () => {
    outside = await startOutside()
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: {
            enablePermissiveTrafficPolicyMode: false,
            enableEgress: false,
            policyWithdrawalTimeout: `${WITHDRAWAL_MS}ms`,
          },
        }),
      ],
      'workloads.yaml': [
        account('shop/client'),
        workload('shop/client', { program: programs.idle }),
        ...['store', 'press'].flatMap((name, index) => [
          account(`shop/${name}`),
          workload(`shop/${name}`, { program: programs.http, port: 8080 + index }),
          service(`shop/${name}`, name, 8080 + index),
        ]),
        routeGroup('shop/all', [{ name: 'all', pathRegex: '/.*' }]),
      ],
      'store.yaml': [allow('store', ['client'])],
      'press.yaml': [allow('press', ['client'])],
      'lost.yaml': [opened('127.0.0.1', 'lost')],
      'kept.yaml': [opened('localhost', 'kept')],
    })
  })
  afterAll(async () => {
    for (const end of ends) end()
    await mesh.stop()
    outside.server.closeAllConnections()
    outside.server.close()
  })

  it('end within the withdrawal timeout, and those of other services go on', async () => {
    const lost = [await events('http://store.shop:8080/?events=1')]
    const kept = [await events('http://press.shop:8081/?events=1')]
    const keptUpgrade = await upgrade('http://press.shop:8081/')
    await mesh.write('store.yaml', routeGroup('shop/unused', [{ name: 'none', pathRegex: '/none' }]))
    await eventually(
      () => lost.every(({ ended }) => ended()),
      (ended) => ended,
      { what: 'the end of the streams of the store' },
    )
    const before = kept.map((stream) => stream.events())
    await pause(AFTERWARDS_MS)
    await expect(keptUpgrade.ask('still here', ANSWER_MS)).resolves.toBe('still here')
    expect(kept.map(({ ended }) => ended())).toEqual([false])
    expect(kept.every((stream, index) => stream.events() > (before[index] ?? 0))).toBe(true)
  })

  it('end outside the mesh, where other hosts take new ones', async () => {
    const lost = await upgrade(`http://127.0.0.1:${outside.port}/`)
    const kept = await upgrade(`http://localhost:${outside.port}/`)
    // A host that is added ends nothing.
    await mesh.apply('added.yaml', opened('127.0.0.2', 'added'))
    await pause(AFTERWARDS_MS)
    await expect(lost.ask('still here', ANSWER_MS)).resolves.toBe('still here')
    await expect(kept.ask('still here', ANSWER_MS)).resolves.toBe('still here')
    await mesh.write('lost.yaml')
    await eventually(
      () => lost.ended(),
      (ended) => ended,
      { what: 'the end of the stream to the host that is no longer opened' },
    )
    const again = await upgrade(`http://localhost:${outside.port}/`)
    // The controller that starts again knows that it was closed, and closes nothing else.
    await mesh.restartController()
    await pause(AFTERWARDS_MS)
    await expect(again.ask('still here', ANSWER_MS)).resolves.toBe('still here')
  })
})
