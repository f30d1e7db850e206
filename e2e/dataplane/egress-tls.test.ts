import { createServer as createHttpsServer, type Server } from 'node:https'
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { TLSSocket } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

import { testAuthority } from '../../packages/driver-envoy/test/xds/test-certificates.js'
import { issueLike, issueNames } from './support/authority.js'
import { type TestMesh, programs, startTestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { eventually } from './support/wait.js'
import { account, egress, meshConfig, workload } from './support/yaml.js'

jest.setTimeout(60_000)

interface Identity {
  readonly chain: string
  readonly privateKey: string
}

describe('TLS that sidecars speak to servers outside the mesh', () => {
  let mesh: TestMesh
  let root = ''
  const servers: (Server | TcpServer)[] = []
  /** Connections to each port. */
  const connections = new Map<number, number>()
  const listen = async (server: Server | TcpServer): Promise<number> => {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    server.on('connection', () => connections.set(port, (connections.get(port) ?? 0) + 1))
    return port
  }
  /** A server that takes clients with certificates of the mesh, and says whose certificate one was. */
  const serve = ({ chain, privateKey }: Identity): Promise<number> =>
    listen(
      createHttpsServer({ cert: chain, key: privateKey, ca: root, requestCert: true }, (request, response) => {
        const { socket } = request
        const client = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : 'nobody'
        response.end(JSON.stringify({ server: client }))
      }).on('tlsClientError', () => undefined),
    )
  const ofMesh = (name: string): Promise<Identity> =>
    issueNames(mesh.stateFolder, { commonName: name, dnsNames: [name] })
  const get = (port: number, from = 'shop/client') => throughProxy(mesh.proxyOf(from), `http://localhost:${port}/`)
  const config = (enableEgress: boolean): string =>
    meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress } })
  const open = (name: string, port: number, mtls: Readonly<Record<string, unknown>>): string =>
    egress(`shop/${name}`, { from: ['shop/client'], hosts: ['localhost'], ports: [`${port}/http`], mtls })

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [config(false)],
      'workloads.yaml': [
        account('shop/client'),
        account('shop/thief'),
        workload('shop/client', { program: programs.idle }),
        workload('shop/thief', { program: programs.idle }),
      ],
    })
    const anybody = { kind: 'service', serviceAccount: { namespace: 'shop', name: 'client' }, services: [] } as const
    root = (await issueLike(mesh.stateFolder, anybody)).workloadRoot
  }, 120_000)
  afterAll(async () => {
    for (const server of servers) server.close()
    await mesh.stop()
  }, 60_000)

  it('shows the certificate of the caller to a server that holds the name', async () => {
    const port = await serve(await ofMesh('localhost'))
    await mesh.apply('egress.yaml', open('own', port, { issuer: 'osm' }))
    await eventually(
      () => get(port),
      ({ status }) => status === 200,
      { what: 'an answer from outside' },
    )
    await expect(get(port)).resolves.toMatchObject({ status: 200, server: 'client.shop.cluster.local' })
    await expect(get(port, 'shop/thief')).resolves.toMatchObject({ status: 403 })
  })

  it('takes the names that the Egress expects in place of the host', async () => {
    const port = await serve(await ofMesh('pay.example'))
    const cert = { sn: 1, expiration: '2040-01-01T00:00:00Z', secret: { name: 'unused', namespace: 'shop' } }
    const names = (subjectAltNames: readonly string[]) => ({ issuer: 'osm', cert: { ...cert, subjectAltNames } })
    await mesh.apply('egress.yaml', open('named', port, names(['pay.example'])))
    await eventually(
      () => get(port),
      ({ status }) => status === 200,
      { what: 'an answer from outside' },
    )
    await mesh.apply('egress.yaml', open('named', port, names(['other.example'])))
    await eventually(
      () => get(port),
      ({ status }) => status === 503,
      { what: 'a refusal' },
    )
  })

  it('refuses servers of other names and other authorities, and servers that speak no TLS', async () => {
    const stranger = testAuthority('a stranger').issue('localhost')
    let heard = ''
    const plain = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.on('data', (data) => {
        heard += data.toString('latin1')
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    const ports = [await serve(await ofMesh('else.example')), await serve(stranger), await listen(plain)]
    await mesh.apply('egress.yaml', ...ports.map((port, index) => open(`bad-${index}`, port, { issuer: 'osm' })))
    for (const port of ports) {
      // Until the sidecar has looked the name up there is nothing to refuse.
      await eventually(
        async () => [(await get(port)).status, connections.has(port)],
        ([, connected]) => connected === true,
        { what: 'a connection' },
      )
      await expect(get(port)).resolves.toMatchObject({ status: 503 })
    }
    await eventually(
      () => heard,
      (text) => text !== '',
      { what: 'a handshake' },
    )
    expect(heard).not.toContain('GET')
  })

  it('sends nothing where it has no certificate to show, whatever else is open', async () => {
    const port = await listen(createTcpServer((socket) => socket.destroy()))
    await mesh.apply('config.yaml', config(true))
    await mesh.apply(
      'egress.yaml',
      open('a-other', port, { issuer: 'other' }),
      egress('shop/b-clear', { from: ['shop/client'], hosts: ['localhost'], ports: [`${port}/http`] }),
    )
    await expect(get(port)).resolves.toMatchObject({ status: 503 })
    expect(connections.get(port)).toBeUndefined()
    const problems = (await mesh.problems()).filter(({ object }) => object?.kind === 'Egress')
    expect(problems.map(({ code, object, field }) => [code, object?.name, field])).toEqual([
      ['OSM_POLICY_EGRESS_MTLS', 'a-other', 'spec.sources[0].mtls.issuer'],
      ['OSM_POLICY_EGRESS_CONFLICT', 'b-clear', 'spec.ports[0].protocol'],
    ])
  })
})
