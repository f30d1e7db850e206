import { expect } from '@jest/globals'
import type { CertificateSubject } from '@osm-ts/core'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { testAuthority } from '@osm-ts/driver-testkit'

import { issueLike } from '../authority.js'
import { type Http2Answer, overHttp2 } from '../http2-call.js'
import type { TestMesh } from '../mesh.js'
import { type Answer, openTcp, throughProxy } from '../traffic.js'
import { askSidecar, type InboundListener, type Shown } from './ask-sidecar.js'
import { hostOf, named, NAMESPACE, ports, splitOf } from './interop-mesh.js'
import type { Pair, SidecarClass } from './sidecar-class.js'
import type { Vault } from './vault.js'

/** Enough to tell the weights apart. */
const SPLIT_REQUESTS = 120
const SPLIT_PARALLEL = 8

/** Longer than any answer takes, also where the machine is busy. */
const TIMEOUT_MS = 10_000

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n`

/** What must hold between sidecars of two classes in one mesh. Each method throws where it does not. */
export class InteropChecks {
  readonly #mesh: TestMesh
  readonly #vault: Vault
  readonly #classes: readonly SidecarClass[]
  /** How many requests of a client each class has served, counted once for all of its pairs. */
  readonly #shares = new Map<SidecarClass, Promise<ReadonlyMap<string, number>>>()

  constructor(mesh: TestMesh, vault: Vault, classes: readonly SidecarClass[]) {
    this.#mesh = mesh
    this.#vault = vault
    this.#classes = classes
  }

  /** Servers decide by the identity in the certificate, and take nothing but certificates of the mesh; so do clients. */
  async identity([client, server]: Pair): Promise<void> {
    const before = await this.#served(client, server)
    expect(await this.#web('thief', client, server, '/lobby')).toMatchObject({
      status: 200,
      server: `server-${server}`,
    })
    expect(await this.#web('thief', client, server, '/books/1')).toMatchObject({ status: 403 })
    await this.#takesCertificatesOfTheMeshOnly(client, server)
    // The thief next door, the request with a certificate, and this one.
    expect(await this.#served(client, server)).toBe(before + 3)
    await this.#talksToTheRightServerOnly(client)
  }

  /** A rule opens what it says by path and method, and nothing else. */
  async http([client, server]: Pair): Promise<void> {
    const before = await this.#served(client, server)
    expect(await this.#web('client', client, server, '/secrets')).toMatchObject({ status: 403 })
    expect(await this.#web('client', client, server, '/lobby')).toMatchObject({ status: 403 })
    expect(await this.#web('client', client, server, '/books/1', 'POST')).toMatchObject({ status: 403 })
    expect(await this.#served(client, server)).toBe(before + 1)
  }

  /** A server gets its share of what a client asks of a split service, whose other backends are of other classes. */
  async split([client, server]: Pair): Promise<void> {
    let counted = this.#shares.get(client)
    if (counted === undefined) {
      counted = this.#count(client)
      this.#shares.set(client, counted)
    }
    const share = (splitOf(this.#classes).get(server) ?? 0) / 100
    const got = (await counted).get(`server-${server}`) ?? 0
    // Some draw lots: five standard deviations.
    const tolerance = 5 * Math.sqrt(SPLIT_REQUESTS * share * (1 - share))
    expect(Math.abs(got - SPLIT_REQUESTS * share)).toBeLessThanOrEqual(tolerance)
  }

  /** A route opens its port to whom a rule names. */
  async tcp([client, server]: Pair): Promise<void> {
    expect(await this.#echo('client', 'echo', client, server)).toBe('hello')
    expect(await this.#echo('thief', 'side', client, server)).toBe('hello')
    expect(await this.#echo('thief', 'echo', client, server)).toBe('closed')
    expect(await this.#echo('client', 'side', client, server)).toBe('closed')
    const listener = await this.#listener('echo', server)
    expect(await askSidecar(listener, await this.#shown(`client-${client}`), 'hello\n')).toBe('hello')
    expect(await askSidecar(listener, await this.#shown(`thief-${client}`), 'hello\n')).toBe('refused')
  }

  /** Calls pass with their status, which comes behind the message; they are refused as other requests are. */
  async grpc([client, server]: Pair): Promise<void> {
    const call = (role: 'client' | 'thief', path: string): Promise<Http2Answer> =>
      overHttp2(this.#mesh.proxyOf(named(role, client)), `http://${hostOf('greeter', server)}${path}`, 'grpc')
    expect(await call('client', '/Greet/0')).toMatchObject({ status: 200, code: '0', body: Buffer.alloc(5) })
    expect(await call('client', '/Greet/5')).toMatchObject({ status: 200, code: '5' })
    // Some say it as a status of HTTP, some as the one of gRPC that stands for it.
    for (const refused of [await call('thief', '/Greet/0'), await call('client', '/Other/0')])
      expect([`${refused.status} ${refused.code ?? ''}`]).toContainEqual(expect.stringMatching(/^(403|200 7$)/))
  }

  async #takesCertificatesOfTheMeshOnly(client: SidecarClass, server: SidecarClass): Promise<void> {
    const listener = await this.#listener('web', server)
    const own = await this.#shown(`client-${client}`)
    const ask = (shown: Shown | 'plaintext'): Promise<string> => askSidecar(listener, shown, request('/books/1'))
    expect(await ask(own)).toBe('HTTP/1.1 200 OK')
    expect(await ask(await this.#shown('stranger'))).toBe('HTTP/1.1 403 Forbidden')
    expect(await ask({ roots: own.roots })).toBe('refused')
    const foreign = testAuthority('foreign').issue(`client-${client}.${NAMESPACE}.cluster.local`)
    expect(await ask({ ...foreign, roots: own.roots })).toBe('refused')
    expect(await ask('plaintext')).not.toMatch(/^HTTP\/1\.[01] 2/)
  }

  async #talksToTheRightServerOnly(client: SidecarClass): Promise<void> {
    const ask = (): Promise<Answer> =>
      throughProxy(this.#mesh.proxyOf(named('client', client)), `http://vault.${NAMESPACE}:8080/books/1`)
    for (const identity of ['impostor', 'foreign'] as const) {
      await this.#vault.become(identity, this.#mesh.stateFolder)
      expect([identity, await ask()]).toMatchObject([identity, { status: 503 }])
      expect(this.#vault.callers()).toEqual([])
    }
    await this.#vault.become('vault', this.#mesh.stateFolder)
    expect(await ask()).toMatchObject({ status: 200 })
    expect(this.#vault.callers()).toEqual([`client-${client}.${NAMESPACE}.cluster.local`])
  }

  /** How many requests the application of a server has served, this one included. */
  async #served(client: SidecarClass, server: SidecarClass): Promise<number> {
    const answer = await this.#web('client', client, server, '/books/1')
    expect(answer).toMatchObject({ status: 200, server: `server-${server}` })
    return (JSON.parse(answer.body) as { readonly served: number }).served
  }

  async #count(client: SidecarClass): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>()
    let left = SPLIT_REQUESTS
    const work = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        const url = `http://store.${NAMESPACE}:${ports.web}/books/1`
        const { status, server = '' } = await throughProxy(this.#mesh.proxyOf(named('client', client)), url)
        expect(status).toBe(200)
        counts.set(server, (counts.get(server) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: SPLIT_PARALLEL }, work))
    return counts
  }

  #web(
    role: 'client' | 'thief',
    client: SidecarClass,
    server: SidecarClass,
    path: string,
    method = 'GET',
  ): Promise<Answer> {
    const proxy = this.#mesh.proxyOf(named(role, client))
    return throughProxy(proxy, `http://${hostOf('web', server)}${path}`, { method })
  }

  async #echo(
    role: 'client' | 'thief',
    port: 'echo' | 'side',
    client: SidecarClass,
    server: SidecarClass,
  ): Promise<string> {
    const address = this.#mesh.tcpAddress(named(role, client), `${port}-${server}_${NAMESPACE}_${ports[port]}`)
    const connection = openTcp(address)
    try {
      return await connection.ask('hello', TIMEOUT_MS)
    } finally {
      connection.socket.destroy()
    }
  }

  async #listener(port: keyof typeof ports, server: SidecarClass): Promise<InboundListener> {
    const { uuid } = this.#mesh.instance(named('server', server))
    const policy = JSON.parse(await this.#mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
    const listen = policy.proxy.inbound.find(({ id }) => id.startsWith(`${named(port, server)}|`))?.listen
    if (listen === undefined) throw new Error(`${named('server', server)} has no listener for ${port}`)
    return { ...listen, serverName: `${port}-${server}.${NAMESPACE}.svc.cluster.local` }
  }

  /** A certificate of the mesh for an account. */
  async #shown(name: string): Promise<Shown> {
    const subject: CertificateSubject = {
      kind: 'service',
      serviceAccount: { namespace: NAMESPACE, name },
      services: [],
    }
    const { certificate, workloadRoot: roots } = await issueLike(this.#mesh.stateFolder, subject)
    return { chain: certificate.chain, privateKey: certificate.privateKey(), roots }
  }
}
