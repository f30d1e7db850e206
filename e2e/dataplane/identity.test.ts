import { connect as tcpConnect } from 'node:net'
import {
  type ConnectionOptions,
  type PeerCertificate,
  type TLSSocket,
  connect as tlsConnect,
  createServer as createTlsServer,
} from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type CertificateSubject, newProxyUUID } from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { issueLike } from './support/authority.js'
import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { throughProxy } from './support/traffic.js'
import { account, service, trafficTarget } from './support/yaml.js'

const SERVER_NAME = 'store-v1.shop.svc.cluster.local'
const identityOf = (name: string, services: readonly string[] = []): CertificateSubject => ({
  kind: 'service',
  serviceAccount: { namespace: 'shop', name },
  services: services.map((each) => ({ namespace: 'shop', name: each })),
})

describe('identity on the wire', () => {
  let mesh: TestMesh
  let inbound: { readonly address: string; readonly port: number }

  beforeAll(async () => {
    mesh = await startTestMesh(shop())
    const policy = JSON.parse(
      await mesh.debug(`/debug/policy?uuid=${mesh.instance('shop/store-v1').uuid}`),
    ) as ProxyPolicy
    const listen = policy.proxy.inbound.find(({ id }) => id.startsWith('shop/store-v1|'))?.listen
    if (listen === undefined) throw new Error('store-v1 has no inbound listener')
    inbound = listen
  })
  afterAll(async () => {
    await mesh.stop()
  })

  /** Sends a request over TLS with the given certificate straight to the sidecar of store-v1. */
  async function ask(
    subject: CertificateSubject | undefined,
    path: string,
    options: ConnectionOptions = {},
  ): Promise<string> {
    const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, subject ?? identityOf('client'))
    const own = subject === undefined ? {} : { cert: certificate.chain, key: certificate.privateKey() }
    return new Promise((resolve) => {
      const socket: TLSSocket = tlsConnect({
        host: inbound.address,
        port: inbound.port,
        servername: SERVER_NAME,
        ALPNProtocols: ['osm'],
        ca: workloadRoot,
        checkServerIdentity: () => undefined,
        ...own,
        ...options,
      })
      let answer = ''
      socket.on('secureConnect', () =>
        socket.write(`GET ${path} HTTP/1.1\r\nHost: store-v1.shop:8080\r\nConnection: close\r\n\r\n`),
      )
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
      socket.on('error', (error: NodeJS.ErrnoException) =>
        resolve(answer === '' ? `refused: ${error.code ?? error.message}` : firstLine(answer)),
      )
      socket.on('close', () => resolve(answer === '' ? 'refused: closed' : firstLine(answer)))
    })
  }
  const firstLine = (text: string): string => text.slice(0, text.indexOf('\r\n'))

  it('accepts the allowed identity', async () => {
    await expect(ask(identityOf('client'), '/books/1')).resolves.toBe('HTTP/1.1 200 OK')
  })

  it('refuses plaintext', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = tcpConnect(inbound.port, inbound.address, () =>
        socket.write('GET /books/1 HTTP/1.1\r\nHost: store-v1.shop:8080\r\n\r\n'),
      )
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
      socket.on('error', () => resolve(text))
      socket.on('close', () => resolve(text))
    })
    expect(answer).not.toContain('HTTP/1.1')
  })

  it('answers 403 to another identity of the mesh', async () => {
    await expect(ask(identityOf('stranger'), '/books/1')).resolves.toBe('HTTP/1.1 403 Forbidden')
  })

  it('ends the handshake without a client certificate', async () => {
    await expect(ask(undefined, '/books/1')).resolves.toMatch(/^refused/)
  })

  it('ends the handshake of a proxy certificate: another root has signed it', async () => {
    const subject = {
      kind: 'proxy',
      uuid: newProxyUUID(),
      serviceAccount: { namespace: 'shop', name: 'client' },
    } as const
    await expect(ask(subject, '/books/1')).resolves.toMatch(/^refused/)
  })

  it('does not take headers for identity', async () => {
    const answer = await throughProxy(mesh.proxyOf('shop/thief'), 'http://store.shop:8080/buy', {
      method: 'POST',
      headers: { serviceidentity: 'client.shop', 'x-forwarded-client-cert': 'URI=spiffe://cluster.local/client/shop' },
    })
    expect(answer.status).toBe(403)
  })

  it('gives an account that is named like a proxy no access of that proxy', async () => {
    const uuid = mesh.instance('shop/client').uuid
    await expect(ask(identityOf(`${uuid}.sidecar.client`), '/books/1')).resolves.toBe('HTTP/1.1 403 Forbidden')
    await expect(ask(identityOf('client.shop'), '/books/1')).resolves.toBe('HTTP/1.1 403 Forbidden')
  })

  it('does not talk to an upstream of another identity', async () => {
    const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, identityOf('impostor', ['vault']))
    let handshakes = 0
    const server = createTlsServer(
      { cert: certificate.chain, key: certificate.privateKey(), ca: workloadRoot, requestCert: true },
      (socket) => {
        handshakes += 1
        socket.on('error', () => socket.destroy())
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      },
    )
    server.on('tlsClientError', () => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    try {
      await mesh.write(
        'vault.yaml',
        account('shop/vault'),
        service('shop/vault', 'vault', 8080, { targetPort: port }),
        `${JSON.stringify({
          apiVersion: 'standalone.openservicemesh.io/v1alpha1',
          kind: 'Workload',
          metadata: { name: 'vault', namespace: 'shop', labels: { app: 'vault' } },
          spec: { serviceAccountName: 'vault', address: '127.0.0.1', ports: [{ name: 'main', port }] },
        })}\n`,
        trafficTarget('shop/vault', {
          to: 'shop/vault',
          from: ['shop/client'],
          rules: [{ kind: 'HTTPRouteGroup', name: 'store' }],
        }),
      )
      await eventually(
        () => throughProxy(mesh.proxyOf('shop/client'), 'http://vault.shop:8080/books/1'),
        ({ status }) => status === 503,
        { what: 'a refusal by the own sidecar' },
      )
      const { admin } = mesh.instance('shop/client')
      const stats = await (
        await fetch(`http://127.0.0.1:${admin?.port ?? 0}/stats?filter=vault.*fail_verify_san`)
      ).text()
      expect(stats).toMatch(/fail_verify_san: [1-9]/)
      expect(handshakes).toBe(0)
    } finally {
      server.close()
      await mesh.write('vault.yaml')
    }
  })

  it('issues certificates that name identity and services, and no wildcard', async () => {
    const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, identityOf('client'))
    const peer = await new Promise<PeerCertificate>((resolve, reject) => {
      const socket = tlsConnect(
        {
          host: inbound.address,
          port: inbound.port,
          servername: SERVER_NAME,
          ca: workloadRoot,
          cert: certificate.chain,
          key: certificate.privateKey(),
          checkServerIdentity: () => undefined,
        },
        () => {
          resolve(socket.getPeerCertificate())
          socket.destroy()
        },
      )
      socket.on('error', reject)
    })
    expect(peer.subject.CN).toBe('store-v1.shop.cluster.local')
    expect(peer.subjectaltname).toContain('URI:spiffe://cluster.local/store-v1/shop')
    expect(peer.subjectaltname).toContain(`DNS:${SERVER_NAME}`)
    expect(peer.subjectaltname).toContain('DNS:store.shop.svc.cluster.local')
    expect(peer.subjectaltname).not.toContain('*')
  })

  it('keeps uuids of proxies apart', () => {
    const uuids = mesh.mesh.instances().map(({ uuid }) => uuid as ProxyUUID)
    expect(new Set(uuids).size).toBe(uuids.length)
  })
})
