import type { Server, Socket } from 'node:net'

import type { TestAuthority } from '../test-certificates.js'
import { Connections } from '../actor/connections.js'
import { createApp, listen } from '../actor/servers.js'
import type { LocalMode, Scenario, ScenarioClient } from './format.js'

type Declared = NonNullable<Scenario['outside']>

/** What a scenario has outside the mesh. */
export class Outside {
  readonly connections = new Connections()
  readonly #clients: Readonly<Record<string, ScenarioClient>>
  readonly #ports: ReadonlyMap<string, number>
  readonly #servers: readonly Server[]
  readonly #sockets: ReadonlySet<Socket>
  readonly #mode: LocalMode

  private constructor(
    clients: Readonly<Record<string, ScenarioClient>>,
    ports: ReadonlyMap<string, number>,
    servers: readonly Server[],
    sockets: ReadonlySet<Socket>,
    mode: LocalMode,
  ) {
    this.#clients = clients
    this.#ports = ports
    this.#servers = servers
    this.#sockets = sockets
    this.#mode = mode
  }

  /** Starts the servers. */
  static async open(
    { servers = {}, clients = {} }: Declared,
    mode: LocalMode,
    authority: TestAuthority,
  ): Promise<Outside> {
    const ports = new Map<string, number>()
    const sockets = new Set<Socket>()
    const started: Server[] = []
    for (const [name, { app }] of Object.entries(servers)) {
      const server = createApp(app, { server: name, instance: name }, authority.issue(`${name}.test`))
      server.on('connection', (socket) => {
        sockets.add(socket)
        socket.on('close', () => sockets.delete(socket))
      })
      started.push(server)
      ports.set(name, await listen(server, mode === 'explicit' ? '127.0.0.1' : '0.0.0.0', 0))
    }
    return new Outside(clients, ports, started, sockets, mode)
  }

  client(name: string): ScenarioClient {
    const client = this.#clients[name]
    if (client === undefined) throw new Error(`no client outside the mesh is called ${name}`)
    return client
  }

  /** Puts addresses and ports of servers into the place of `{{<server>.host}}` and `{{<server>.port}}`, in every text. */
  fill<T>(value: T): T {
    if (typeof value === 'string') return this.#filled(value) as T
    if (Array.isArray(value)) return value.map((each: unknown) => this.fill(each)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.fill(each as unknown)])) as T
  }

  async close(): Promise<void> {
    this.connections.close()
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))))
  }

  /** A text that is nothing but a port becomes a number. */
  #filled(text: string): string | number {
    const whole = /^\{\{([a-z0-9-]+)\.port\}\}$/.exec(text)?.[1]
    if (whole !== undefined) return this.#port(whole)
    return text.replaceAll(/\{\{([a-z0-9-]+)\.(host|port)\}\}/g, (_, name: string, what: string) =>
      what === 'host' ? this.#host(name) : String(this.#port(name)),
    )
  }

  #port(name: string): number {
    const port = this.#ports.get(name)
    if (port === undefined) throw new Error(`no server outside the mesh is called ${name}`)
    return port
  }

  #host(name: string): string {
    this.#port(name)
    if (this.#mode === 'transparent')
      throw new Error('servers outside the mesh are not reachable in transparent mode yet')
    return '127.0.0.1'
  }
}
