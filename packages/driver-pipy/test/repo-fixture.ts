import { type RepoServerPorts, RepoServer } from '../src/server/repo-server.js'
import { codebaseOf, literalDocuments, PipyHost } from './mesh.js'
import { RepoClient } from './repo-client.js'
import { type WorkerOptions, WorkerStandIn } from './worker-stand-in.js'

type Admitted = Pick<ReturnType<PipyHost['admitted']>, 'uuid' | 'credential'>

/** A repo server with its host, its workers and a clock that can be put forward. */
export class RepoFixture {
  readonly host = new PipyHost()
  readonly #ports: Partial<RepoServerPorts>
  readonly #workers: WorkerStandIn[] = []
  readonly #clients: RepoClient[] = []
  #stop = new AbortController()
  #server: RepoServer
  #aheadMs = 0
  #port = 0

  /** Call {@link start} before anything else. */
  constructor(ports: Partial<RepoServerPorts> = {}) {
    this.#ports = ports
    this.#server = this.#make(0)
  }

  get server(): RepoServer {
    return this.#server
  }

  async start(): Promise<void> {
    await this.#server.start()
  }

  /** The server ends and another one takes its place on the same port, knowing nothing. */
  async restart(ports: Partial<RepoServerPorts> = {}): Promise<void> {
    await this.down()
    await this.up(ports)
  }

  async down(): Promise<void> {
    this.#port = this.#server.port
    this.#stop.abort()
    await this.#server.close()
  }

  async up(ports: Partial<RepoServerPorts> = {}): Promise<void> {
    this.#server = this.#make(this.#port, ports)
    await this.#server.start()
  }

  /** What the debug page says of every session. */
  described(): readonly Readonly<Record<string, unknown>>[] {
    return [...this.#server.sessions].map((session) => session.describe())
  }

  /** Puts the clock of the server forward. */
  pass(milliseconds: number): void {
    this.#aheadMs += milliseconds
  }

  worker(admitted: Admitted, options: Partial<WorkerOptions> = {}): WorkerStandIn {
    const { uuid, credential } = admitted
    const { port } = this.#server
    const roots = [this.host.controlPlane.certificate]
    const worker = new WorkerStandIn({
      port,
      roots,
      uuid,
      credential,
      identity: 'bookbuyer.default',
      periodMs: 40,
      ...options,
    })
    this.#workers.push(worker)
    worker.start()
    return worker
  }

  client(credential: Admitted['credential'] | undefined): RepoClient {
    const roots = [this.host.controlPlane.certificate]
    const client = new RepoClient({ port: this.#server.port, roots, ...(credential !== undefined && { credential }) })
    this.#clients.push(client)
    return client
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close()
    await Promise.all(this.#workers.map(async (worker) => worker.stop()))
    this.#stop.abort()
    await this.#server.close()
    this.host.stop()
  }

  #make(port: number, ports: Partial<RepoServerPorts> = {}): RepoServer {
    this.#stop = new AbortController()
    return new RepoServer(this.host.context({ proxyServerPort: port, signal: this.#stop.signal }), {
      codebase: codebaseOf('one'),
      make: literalDocuments,
      now: () => Date.now() + this.#aheadMs,
      random: () => 0.5,
      timing: { pollTimeoutMs: 25_000, writeTimeoutMs: 30_000, sweepMs: 20 },
      ...this.#ports,
      ...ports,
    })
  }
}

/** Resolves when that holds. What it looks at comes over the network, at its own time. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`not in 120 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
