import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { openSocket } from '@osm-ts/driver-testkit/testing'

import { type TestMesh, startTestMesh } from '../mesh.js'
import { type ProgramOutside, startAt } from '../program-outside.js'
import { throughProxy } from '../traffic.js'
import { ref, telemetry } from '../yaml.js'
import { clientHello } from './client-hello.js'
import { configOf } from './question.js'
import type { EgressAttempt } from './random-egress.js'
import type { Attempt, Policy } from './random-policy.js'
import { type RawAnswer, RawClient } from './raw-http.js'
import { bytesThroughProxy } from './raw-request.js'
import {
  ARRIVALS,
  BARE,
  BARE_ADDRESS,
  CANARY,
  HTTP_PORT,
  TCP_PORT,
  canaryPolicy,
  canaryUrl,
  clients,
  topology,
} from './topology.js'

/** What became of an attempt: who answered, and which path and headers it saw; or how it was refused. */
export type Outcome =
  | {
      readonly passed: true
      readonly server: string
      /** Of the answer to a request. */
      readonly status?: number
      readonly mark?: string
      readonly path?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | {
      readonly passed: false
      readonly status: number
      readonly mark?: string
      readonly location?: string
      readonly grpcStatus?: number
    }

const FILE = 'policy.yaml'

/** Real sidecars whose policies change, and requests through them. */
export class DifferentialMesh {
  readonly #mesh: TestMesh
  /** The server of the topology that no sidecar is in front of. */
  readonly #bare: ProgramOutside
  readonly #clients: ReadonlyMap<string, RawClient>
  #state = 0
  #marks = 0

  private constructor(mesh: TestMesh, bare: ProgramOutside) {
    this.#mesh = mesh
    this.#bare = bare
    this.#clients = new Map(
      clients.map((name) => {
        const { hostname, port } = new URL(mesh.proxyOf(name))
        return [name, new RawClient(() => openSocket({ host: hostname, port: Number(port) }, undefined))]
      }),
    )
  }

  static async open(sidecarClass = 'envoy'): Promise<DifferentialMesh> {
    const bare = await startAt(BARE_ADDRESS, BARE, { http: HTTP_PORT, tcp: TCP_PORT }, { ARRIVALS })
    return new DifferentialMesh(
      await startTestMesh(
        {
          'topology.yaml': topology,
          [FILE]: [configOf({ permissive: false, plaintext: [], keepsEscapedSlashes: false })],
        },
        { sidecarClass },
      ),
      bare,
    )
  }

  /** Puts a policy into force, in place of the one before. */
  async apply(policy: Policy): Promise<void> {
    // Of an object that becomes invalid the last valid version stays in force, so that objects of the one before go first.
    const former = `/state-${this.#state}`
    await this.#mesh.write(FILE, configOf(policy))
    await eventually(
      () => this.#mesh.debug('/debug/policies'),
      (page) => !page.includes(former),
      { everyMs: 10, what: `that ${former} is gone` },
    )
    this.#state += 1
    await this.#mesh.write(FILE, configOf(policy), ...policy.documents, ...canaryPolicy(this.#state))
    const url = canaryUrl(this.#state)
    await eventually(
      () => this.#mesh.debug('/debug/policies'),
      (page) => page.includes(`/state-${this.#state}`),
      { everyMs: 10, what: 'that the policy is read' },
    )
    // Where everything is answered, the canary of every state is too: it tells nothing of what is still to be computed.
    await this.#computed()
    await eventually(
      () => throughProxy(this.#mesh.proxyOf(clients[0]), url),
      ({ status }) => status === 200,
      { everyMs: 10, what: `state ${this.#state}` },
    )
    await this.#applied()
  }

  /**
   * Puts objects into force, a MeshConfig among them, in place of those before, and waits until every sidecar has acknowledged all of its policy.
   * Nothing is sent: what the objects say may let nothing through.
   *
   * @throws Error with the words of a sidecar that refuses something
   */
  async give(documents: readonly string[]): Promise<void> {
    this.#state += 1
    const mark = `state-${this.#state}`
    // Whatever mode the mesh is in, the access log of a workload is in its policy.
    await this.#mesh.write(FILE, ...documents, telemetry(CANARY, { accessLog: { format: mark } }))
    const page = `/debug/policy?uuid=${this.#mesh.instance(CANARY).uuid}`
    await eventually(
      () => this.#mesh.debug(page),
      (policy) => policy.includes(`"${mark}"`),
      { everyMs: 10, what: 'that the policy is computed' },
    )
    await this.#computed()
    await this.#applied()
  }

  /** Waits for the policies of what was read. Until then sidecars have acknowledged all of the policies before, and `applied` says so. */
  async #computed(): Promise<void> {
    await eventually(
      () => this.#mesh.isSettled(),
      (isSettled) => isSettled,
      { everyMs: 10, what: 'that all policies are computed' },
    )
  }

  /** @throws Error with the words of a sidecar that refuses something */
  async #applied(): Promise<void> {
    const all = await eventually(
      () => this.#mesh.statuses(),
      (statuses) =>
        statuses.some(({ rejected }) => rejected.length > 0) ||
        statuses.every(
          ({ state, wantedVersion, appliedVersion }) => state === 'applied' && wantedVersion === appliedVersion,
        ),
      { everyMs: 10, what: 'that every sidecar has applied its policy' },
    )
    const refused = all.flatMap(({ name, rejected }) => rejected.map((part) => ({ proxy: name, ...part })))
    if (refused.length > 0) throw new Error(`sidecars refuse ${JSON.stringify(refused, undefined, 1)}`)
  }

  /** Problems that the controller has with what is in force. */
  problems(): ReturnType<TestMesh['problems']> {
    return this.#mesh.problems()
  }

  /** Sends what is attempted. */
  async attempt(attempt: Attempt): Promise<Outcome> {
    const { namespace, name } = ref(attempt.to)
    if (attempt.kind === 'tcp') {
      const { serverName } = attempt
      // Less than the header of a TLS record would leave a sidecar that looks for a server name waiting for the rest of it.
      const first = serverName === undefined ? Buffer.from('who is there?\n') : await clientHello(serverName)
      const address = this.#mesh.tcpAddress(attempt.from, `${name}_${namespace}_${TCP_PORT}`)
      const server = await answerOverTcp(address, first)
      return server === undefined ? { passed: false, status: 0 } : { passed: true, server }
    }
    this.#marks += 1
    const mark = `mark-${this.#marks}`
    const headers = [...attempt.request.headers, ['x-mark', mark] as const]
    const bytes = bytesThroughProxy(`${name}.${namespace}:${HTTP_PORT}`, { ...attempt.request, headers })
    const { body, ...answer } = await this.#client(attempt.from).ask(bytes)
    const { status } = answer
    if (!body.startsWith('{"server"')) return { passed: false, mark, ...answer }
    const seen = JSON.parse(body) as { server: string; path: string; headers: Record<string, string> }
    return { passed: true, mark, status, ...seen }
  }

  /** Sends a request to a host outside the mesh. */
  leave({ from, host, port, method, target, user }: EgressAttempt): Promise<RawAnswer> {
    const headers = user === undefined ? [] : [['x-user', user] as const]
    return this.#client(from).ask(bytesThroughProxy(`${host}:${port}`, { method, target, headers }))
  }

  #client(name: string): RawClient {
    const client = this.#clients.get(name)
    if (client === undefined) throw new Error(`${name} is no client`)
    return client
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) client.close()
    await Promise.all([this.#mesh.stop(), this.#bare.stop()])
    await rm(ARRIVALS, { force: true })
  }
}

/** The line that returns; undefined if the connection is closed before. */
function answerOverTcp(address: string, first: Uint8Array): Promise<string | undefined> {
  const [host = '', port = ''] = address.split(':')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) }, () => socket.write(first))
    let heard = ''
    socket.setTimeout(10_000, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()))
    socket.on('close', () => resolve(heard === '' ? undefined : heard.trimEnd()))
  })
}
