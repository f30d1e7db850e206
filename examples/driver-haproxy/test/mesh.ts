import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import {
  type Agent,
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  request,
  type Server as HttpServer,
} from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Credential, ProxyRef } from '@osm-ts/driver-api'
import { hashPart } from '@osm-ts/driver-api/policy'
import { FakeHost, plainMesh, type TestAuthority, type TestPolicy, trustOf } from '@osm-ts/driver-testkit'
import { Latest } from '@osm-ts/driver-api/toolkit'

import { CERTIFICATE } from '../agent/files.mjs'
import { ask as askHaproxy, describeWorker } from '../agent/runtime.mjs'
import { HaproxyServer } from '../src/server/server.js'
import { haproxyBinary } from './files.js'

const agent = fileURLToPath(new URL('../agent/main.mjs', import.meta.url))

/** A sidecar that runs. */
export interface Sidecar {
  readonly uuid: string
  /** Where its proxy certificate and the key are. */
  readonly folder: string
  /** Port of its administration interface. */
  readonly admin: number
  readonly process: ChildProcess
  /** What it has said. */
  said(): string
  /** The worker that takes connections now. */
  worker(): Promise<number>
  /** Serial number of the certificate that its worker has in force, in lower case. */
  serial(): Promise<string>
}

/** Where applications answer with the headers that they get. */
export const TELLS_HEADERS = '/headers'
/** Paths below it are never answered. */
export const SILENT = '/slow'

/** A server with its host, sidecars with a real HAProxy, and applications beside them. */
export class MeshFixture {
  readonly host = new FakeHost('haproxy')
  readonly server: HaproxyServer
  /** Certificates that were issued for the keys of sidecars, in order. */
  readonly forProxyKeys: Credential[] = []
  readonly #identities = new Map<string, Latest<Credential>>()
  readonly #names = new Map<string, readonly string[]>()
  /** DER of the proxy certificates of sessions. */
  readonly #peers = new Map<string, Uint8Array>()
  readonly #sidecars: { readonly process: ChildProcess; readonly folder: string }[] = []
  readonly #servers: (Server | HttpServer)[] = []
  #folder = ''
  #count = 0

  /** @param serviceCertificates - whose keys certificates are for, of sidecars that can use their own */
  constructor(serviceCertificates: 'shared' | 'perProxy' = 'shared') {
    const context = this.host.context()
    this.server = new HaproxyServer({
      ...context,
      certManager: {
        ...context.certManager,
        identity: (proxy, signal, options) => {
          const shared = this.#identity(proxy.identity).watch(signal)
          return serviceCertificates === 'perProxy' && options?.key === 'proxy' ? this.#own(proxy, shared) : shared
        },
      },
      proxies: {
        ...context.proxies,
        authenticate: async (peer) => {
          const proxy = await context.proxies.authenticate(peer)
          this.#peers.set(proxy.session, peer)
          return proxy
        },
      },
    })
  }

  async *#own(
    { session, identity, principal }: ProxyRef,
    shared: AsyncIterable<Credential>,
  ): AsyncIterable<Credential> {
    for await (const { expiry } of shared) {
      const dns = this.#names.get(identity) ?? []
      const own = this.host.services.issueFor(this.#peers.get(session) ?? new Uint8Array(), principal, {
        dns,
        notAfter: new Date(expiry),
      })
      this.forProxyKeys.push(own)
      yield own
    }
  }

  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-test-'))
    await this.server.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sidecars.map(async ({ process }) => endOf(process)))
    this.host.stop()
    await this.server.close()
    for (const server of this.#servers) {
      if ('closeAllConnections' in server) server.closeAllConnections()
      server.close()
    }
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Gives an identity a certificate, with the names of its services. */
  certify(name: string, services: readonly string[] = [], authority: TestAuthority = this.host.services): Credential {
    const principal = `${name}.default.cluster.local`
    const dns = [principal, ...services.map((service) => `${service}.default.svc.cluster.local`)]
    const credential = authority.issue(principal, { dns })
    this.#names.set(`${name}.default`, dns)
    this.#identity(`${name}.default`).set(credential)
    return credential
  }

  /** Starts a sidecar of that account, without a policy yet. */
  async sidecar(account: string): Promise<Sidecar> {
    this.#count += 1
    const uuid = `c0ffee00-0000-4000-8000-${String(this.#count).padStart(12, '0')}`
    const folder = join(this.#folder, uuid)
    await mkdir(folder, { recursive: true })
    await this.certifyProxy({ uuid, folder }, account)
    await writeFile(join(folder, 'roots.crt'), this.host.controlPlane.certificate)
    const child = spawn(process.execPath, [agent], {
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        OSM_HAPROXY_BINARY: haproxyBinary(),
        OSM_HAPROXY_FOLDER: folder,
        OSM_HAPROXY_SERVER_ADDRESS: '127.0.0.1',
        OSM_HAPROXY_SERVER_PORT: String(this.server.port),
        OSM_HAPROXY_SERVER_NAME: 'ads',
        OSM_HAPROXY_CERTIFICATE: join(folder, 'sidecar.crt'),
        OSM_HAPROXY_KEY: join(folder, 'sidecar.key'),
        OSM_HAPROXY_ROOTS: join(folder, 'roots.crt'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => said.push(text.toString()))
    this.#sidecars.push({ process: child, folder })
    const runtime = async () => {
      const [own = ''] = (await readdir(folder)).filter((name) => name.startsWith('osm-haproxy-'))
      return join(folder, own, 'haproxy.sock')
    }
    return {
      uuid,
      folder,
      admin: await freePort(),
      process: child,
      said: () => said.join(''),
      worker: async () => (await describeWorker(await runtime()))?.pid ?? 0,
      serial: async () => {
        const shown = await askHaproxy(await runtime(), `show ssl cert ${CERTIFICATE}`)
        return /^Serial: ([0-9A-F]+)$/m.exec(shown)?.[1]?.toLowerCase() ?? ''
      },
    }
  }

  /** Gives a sidecar a proxy certificate with another key, in place of the one that it has. */
  async certifyProxy({ uuid, folder }: Pick<Sidecar, 'uuid' | 'folder'>, account: string): Promise<Credential> {
    const { credential } = this.host.admit(uuid, `${account}.default`)
    await writeFile(join(folder, 'sidecar.crt'), credential.chain)
    await writeFile(join(folder, 'sidecar.key'), credential.privateKey, { mode: 0o600 })
    return credential
  }

  /** Gives a sidecar a policy. @returns its revision */
  publish(
    sidecar: Sidecar,
    account: string,
    { changes, parts }: TestPolicy,
    roots = [this.host.services.certificate],
  ): number {
    const trust = trustOf(...roots)
    const { listen = {} } = changes
    return this.host.publishPolicy(
      sidecar.uuid,
      {
        identity: `${account}.default` as never,
        principal: `${account}.default.cluster.local` as never,
        ...changes,
        trust: hashPart(trust),
        mesh: changes.mesh ?? hashPart(plainMesh),
        listen: { ...listen, admin: { address: '127.0.0.1', port: sidecar.admin } },
      },
      [trust, plainMesh, ...parts],
    )
  }

  /** Gives a sidecar a policy and waits until it says that it is in force. */
  async apply(sidecar: Sidecar, account: string, policy: TestPolicy, roots?: readonly string[]): Promise<void> {
    const revision = this.publish(sidecar, account, policy, roots === undefined ? undefined : [...roots])
    await until(
      () => `revision ${revision} of ${account}: ${JSON.stringify(this.host.reports.at(-1))} ${sidecar.said()}`,
      () => this.host.reports.some((report) => report.revision === revision && report.complete),
    )
  }

  /** An application that answers every request with its name. */
  async application(name: string): Promise<number> {
    return this.#listen(
      createHttpServer(({ url = '', headers }, response) => {
        if (!url.startsWith(SILENT)) response.end(url === TELLS_HEADERS ? JSON.stringify(headers) : `${name} ${url}`)
      }),
    )
  }

  /** An application that sends its name first, and then what it gets. */
  async echo(name: string): Promise<number> {
    return this.#listen(
      createServer((socket) => {
        socket.on('error', () => undefined)
        socket.write(`${name}\n`)
        socket.pipe(socket)
      }),
    )
  }

  async #listen(server: Server | HttpServer): Promise<number> {
    this.#servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  #identity(name: string): Latest<Credential> {
    const latest = this.#identities.get(name) ?? new Latest<Credential>()
    this.#identities.set(name, latest)
    return latest
  }
}

async function endOf(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const ended = new Promise((resolve) => process.once('exit', resolve))
  process.kill('SIGTERM')
  await ended
}

/** A port that no one listens on at the moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    // Below those that the kernel gives to clients: one of them could take it before HAProxy does.
    const port = 10_000 + Math.floor(10_000 * Math.random())
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** Against hanging only: reloads take a while where others use the machine too. */
const TIMEOUT_MS = 60_000

/** Resolves when that holds. What it looks at comes over the network, at its own time. */
export async function until(what: () => string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not in ${TIMEOUT_MS} ms: ${what()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** An answer. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Requests a host by the HTTP proxy of a sidecar. */
export async function ask(
  port: number,
  host: string,
  path: string,
  options: {
    readonly method?: string
    readonly headers?: Record<string, string>
    readonly agent?: Agent
  } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, agent: connections } = options
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: { ...headers, host },
        ...(connections !== undefined && { agent: connections }),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.once('error', reject)
    sent.end()
  })
}
