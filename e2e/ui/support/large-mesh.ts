import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'

import { listen } from '@osm-ts/driver-testkit/testing'
import type { Sections, ShownProxy, Topology, TrafficEdge } from '@osm-ts/dashboard'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const NAMESPACES = 50
const CALLS = 3

/** Serves the page with a mesh that does not run: so many workloads, each with a service, and each calling three. */
export class LargeMesh {
  readonly url: string
  readonly #server: Server
  readonly #workloads: number
  #events: ServerResponse | undefined

  private constructor(server: Server, port: number, workloads: number) {
    this.#server = server
    this.#workloads = workloads
    this.url = `http://127.0.0.1:${port}/`
  }

  static async serve(folder: string, workloads: number): Promise<LargeMesh> {
    const server = createServer((request, response) => {
      const name = new URL(request.url ?? '/', 'http://page').pathname
      if (name === '/api/events') mesh.#greet(response)
      else {
        const file = name === '/' ? '/index.html' : name
        response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream')
        response.end(readFileSync(join(folder, file)))
      }
    })
    const mesh = new LargeMesh(server, await listen(server, '127.0.0.1', 0), workloads)
    return mesh
  }

  /** Has one proxy change its state, and all traffic its rate, as the server of the dashboard says it. */
  update(round: number): void {
    this.#send({ proxies: proxies(this.#workloads, round), traffic: traffic(this.#workloads, round) })
  }

  async stop(): Promise<void> {
    this.#events?.end()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #greet(response: ServerResponse): void {
    this.#events = response
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    this.#send({
      mesh: { title: 'large', version: '0.0.0' },
      proxies: proxies(this.#workloads, 0),
      traffic: traffic(this.#workloads, 0),
      topology: topology(this.#workloads),
      pushes: [],
      problems: [],
      fault: '',
    })
  }

  #send(sections: Partial<Sections>): void {
    for (const [name, value] of Object.entries(sections))
      this.#events?.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  }
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
const placeOf = (index: number): string => `namespace-${index % NAMESPACES}/app-${index}`

function topology(workloads: number): Topology {
  return {
    nodes: numbers(workloads).flatMap((index) => {
      const [namespace = '', name = ''] = placeOf(index).split('/')
      return [
        {
          id: `workload ${placeOf(index)}`,
          kind: 'workload' as const,
          namespace,
          name,
          proxies: [`${placeOf(index)}-0`],
          classes: ['envoy'],
        },
        { id: `service ${placeOf(index)}`, kind: 'service' as const, namespace, name, proxies: [], classes: [] },
      ]
    }),
    edges: [
      ...traffic(workloads, 0).map(({ from, to }) => ({
        from,
        to,
        kind: 'access' as const,
        rules: [{ request: '80 http any path', allowedBy: [`TrafficTarget ${to.slice(8)}`] }],
      })),
      ...numbers(workloads).map((index) => ({
        from: `service ${placeOf(index)}`,
        to: `workload ${placeOf(index)}`,
        kind: 'serves' as const,
        rules: [],
      })),
    ],
  }
}

function traffic(workloads: number, round: number): readonly TrafficEdge[] {
  return numbers(workloads).flatMap((index) =>
    numbers(CALLS).map((call) => ({
      from: `workload ${placeOf(index)}`,
      to: `service ${placeOf((index * CALLS + call + 1) % workloads)}`,
      perSecond: 10 + round + call,
      success: 1,
      p99Ms: 5,
    })),
  )
}

function proxies(workloads: number, round: number): readonly ShownProxy[] {
  return numbers(workloads).map((index) => ({
    uuid: `uuid-${index}`,
    name: `${placeOf(index)}-0`,
    identity: `app-${index}.namespace-${index % NAMESPACES}`,
    class: 'envoy',
    connected: true,
    ready: true,
    state: 'applied',
    wantedVersion: 'v'.repeat(32),
    appliedVersion: 'v'.repeat(32),
    revision: 1,
    appliedRevision: 1,
    lastReport: `2026-01-02T03:04:${String(index === 0 ? round : 0).padStart(2, '0')}.000Z`,
    certificateExpires: '2036-01-02T03:04:05.000Z',
    rejected: [],
    denied: [],
    conditions: [],
    participation: 'participant',
    services: [placeOf(index)],
  }))
}
