import { chmod, readdir, readFile } from 'node:fs/promises'
import { createServer as createHttpsServer, type Server } from 'node:https'
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

import { testAuthority } from '@osm-ts/driver-testkit'
import { listen as listenAt } from '@osm-ts/driver-testkit/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { issueLike, issueNames, rootsIn } from './authority.js'
import { type TestMesh, programs, startTestMesh } from './mesh.js'
import { load, throughProxy } from './traffic.js'
import { account, egress, meshConfig, type Qualified, secret, workload } from './yaml.js'

interface Identity {
  readonly chain: string
  readonly privateKey: string
}

/**
 * Tests of the TLS that sidecars of a class speak to servers outside the mesh, in a standalone mesh.
 *
 * @param sidecarClass - that every workload has
 * @param driverPages - debug pages of its driver about a proxy, without `/debug/`
 */
export function describeEgressTls(sidecarClass: string, driverPages: (uuid: string) => readonly string[]): void {
  describe(`TLS that sidecars of class ${sidecarClass} speak to servers outside the mesh`, () => {
    let mesh: TestMesh
    let root = ''
    const servers: (Server | TcpServer)[] = []
    /** Connections to each port. */
    const connections = new Map<number, number>()
    const listen = async (server: Server | TcpServer): Promise<number> => {
      servers.push(server)
      const port = await listenAt(server, '127.0.0.1', 0)
      server.on('connection', () => connections.set(port, (connections.get(port) ?? 0) + 1))
      return port
    }
    /** A server that takes clients with certificates of the authority, that of the mesh unless said otherwise, and says whose certificate one was. */
    const serve = ({ chain, privateKey }: Identity, ca = root): Promise<number> =>
      listen(
        createHttpsServer({ cert: chain, key: privateKey, ca, requestCert: true }, (request, response) => {
          const { socket } = request
          const client = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : 'nobody'
          // The next request shows its certificate again.
          response.setHeader('connection', 'close')
          response.end(JSON.stringify({ server: client }))
        }).on('tlsClientError', () => undefined),
      )
    const ofMesh = (name: string): Promise<Identity> =>
      issueNames(rootsIn(mesh.stateFolder), { commonName: name, dnsNames: [name] })
    const get = (port: number, from = 'shop/client') => throughProxy(mesh.proxyOf(from), `http://localhost:${port}/`)
    /** Waits for this status, and for the server, which no refusal has. */
    const answers = (port: number, expected: number, by?: string): Promise<unknown> =>
      eventually(
        () => get(port),
        ({ status, server }) => status === expected && server === by,
        { what: `${expected} ${by ?? ''} from outside` },
      )
    /** Waits until the sidecar connects. */
    const connected = (port: number): Promise<unknown> =>
      eventually(
        async () => [(await get(port)).status, connections.has(port)],
        ([, isThere]) => isThere === true,
        { what: 'a connection' },
      )
    const config = (enableEgress: boolean): string =>
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress } })
    const open = (name: string, port: number, mtls: Readonly<Record<string, unknown>>): string =>
      egress(`shop/${name}`, { from: ['shop/client'], hosts: ['localhost'], ports: [`${port}/http`], mtls })

    beforeAll(async () => {
      mesh = await startTestMesh(
        {
          'config.yaml': [config(false)],
          'workloads.yaml': [
            account('shop/client'),
            account('shop/thief'),
            workload('shop/client', { program: programs.idle }),
            workload('shop/thief', { program: programs.idle }),
          ],
        },
        { sidecarClass },
      )
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
      await answers(port, 200, 'client.shop.cluster.local')
      await expect(get(port)).resolves.toMatchObject({ status: 200, server: 'client.shop.cluster.local' })
      await expect(get(port, 'shop/thief')).resolves.toMatchObject({ status: 403 })
    })

    it('takes the names that the Egress expects in place of the host', async () => {
      const port = await serve(await ofMesh('pay.example'))
      const cert = { sn: 1, expiration: '2040-01-01T00:00:00Z', secret: { name: 'unused', namespace: 'shop' } }
      const names = (subjectAltNames: readonly string[]) => ({ issuer: 'osm', cert: { ...cert, subjectAltNames } })
      await mesh.apply('egress.yaml', open('named', port, names(['pay.example'])))
      await answers(port, 200, 'client.shop.cluster.local')
      await mesh.apply('egress.yaml', open('named', port, names(['other.example'])))
      await answers(port, 503)
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
        await connected(port)
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
        ['OSM_POLICY_EGRESS_MTLS', 'a-other', 'spec.sources[0].mtls.cert'],
        ['OSM_POLICY_EGRESS_CONFLICT', 'b-clear', 'spec.ports[0].protocol'],
      ])
    })

    describe('with a certificate of another issuer', () => {
      const partner = testAuthority('a partner')
      const cert = { sn: 1, expiration: '2040-01-01T00:00:00Z', secret: { name: 'partner', namespace: 'shop' } }
      const mtls = { issuer: 'other', cert }
      const show = ({ chain, privateKey }: Identity, name: Qualified = 'shop/partner'): Promise<void> =>
        mesh.write(
          'secret.yaml',
          secret(name, { 'tls.crt': chain, 'tls.key': privateKey, 'ca.crt': partner.certificate }),
        )
      const complaints = async (): Promise<readonly string[]> =>
        (await mesh.problems()).flatMap(({ code, field, message }) =>
          code === 'OSM_POLICY_EGRESS_MTLS' ? [`${field}: ${message}`] : [],
        )
      const complains = (pattern: RegExp): Promise<readonly string[]> =>
        eventually(complaints, (found) => found.some((text) => pattern.test(text)), {
          what: `${pattern}`,
        })

      beforeAll(() => mesh.write('config.yaml', config(false)))
      afterEach(() => mesh.write('secret.yaml'))

      it('presents the certificate without revealing its key', async () => {
        const port = await serve(partner.issue('localhost'), partner.certificate)
        const client = partner.issue('buyer-1')
        await show(client)
        await mesh.apply('egress.yaml', open('partner', port, mtls))
        await answers(port, 200, 'buyer-1')
        await expect(get(port, 'shop/thief')).resolves.toMatchObject({ status: 403 })
        await expect(complaints()).resolves.toEqual([])

        const [, key = ''] = client.privateKey.split('\n')
        expect(key.length).toBeGreaterThan(40)
        const { uuid } = mesh.instance('shop/client')
        const pages = ['status', 'problems', 'certs', 'config', 'policies', `policy?uuid=${uuid}`, ...driverPages(uuid)]
        const shown = await Promise.all(pages.map((page) => mesh.debug(`/debug/${page}`)))
        const files = await readdir(mesh.stateFolder, { recursive: true, withFileTypes: true })
        const written = await Promise.all(
          files
            .filter((file) => file.isFile() && !file.parentPath.endsWith('/ca'))
            .map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8').catch(() => '')),
        )
        // The policy names the Secret, so that what is looked through is the right thing.
        expect(shown[5]).toContain('"partner"')
        for (const text of [...shown, ...written, JSON.stringify(mesh.events)]) expect(text).not.toContain(key)
      })

      it('takes over a replaced certificate at runtime, and stops using a deleted one', async () => {
        const port = await serve(partner.issue('localhost'), partner.certificate)
        await show(partner.issue('buyer-1'))
        await mesh.apply('egress.yaml', open('partner', port, mtls))
        await answers(port, 200, 'buyer-1')
        await show(partner.issue('buyer-2'))
        await answers(port, 200, 'buyer-2')
        await mesh.write('secret.yaml')
        await answers(port, 503)
        await complains(/^spec\.sources\[0\]\.mtls\.cert\.secret: Secret shop\/partner is not written down/)
        await show(partner.issue('buyer-3'))
        await answers(port, 200, 'buyer-3')
        await eventually(complaints, ({ length }) => length === 0, { what: 'no complaint' })
      })

      it('keeps its certificate while the controller restarts, which then replaces it again', async () => {
        const port = await serve(partner.issue('localhost'), partner.certificate)
        await show(partner.issue('buyer-1'))
        await mesh.apply('egress.yaml', open('partner', port, mtls))
        await answers(port, 200, 'buyer-1')
        const stop = load(() => get(port), 1)
        await mesh.restartController()
        await show(partner.issue('buyer-2'))
        await answers(port, 200, 'buyer-2')
        const failures = await stop(1)
        expect(failures).toEqual([])
      }, 200_000)

      it('is shown to no server that others have signed', async () => {
        const strangers = testAuthority('a stranger')
        const port = await serve(strangers.issue('localhost'), partner.certificate)
        await show(partner.issue('buyer-1'))
        await mesh.apply('egress.yaml', open('partner', port, mtls))
        await connected(port)
        await expect(get(port)).resolves.toMatchObject({ status: 503 })
      })

      it('sends nothing with a Secret that is unusable, lies open, or lies in another namespace', async () => {
        const port = await serve(partner.issue('localhost'), partner.certificate)
        const good = partner.issue('buyer-1')
        await show({ ...good, privateKey: partner.issue('somebody else').privateKey })
        await mesh.apply('egress.yaml', open('partner', port, mtls))
        await complains(/tls\.key is not the key of the first certificate/)
        // What was applied so far may have been the end of the Secret before.
        await mesh.settled()
        await expect(get(port)).resolves.toMatchObject({ status: 503 })

        await show(good)
        await answers(port, 200, 'buyer-1')
        await chmod(join(mesh.folder, 'secret.yaml'), 0o644)
        await answers(port, 503)
        await complains(/secret\.yaml, which is open to other users of the machine \(mode 0644\)/)

        await show(good, 'vault/partner')
        const elsewhere = { ...cert, secret: { name: 'partner', namespace: 'vault' } }
        await mesh.write('egress.yaml', open('partner', port, { issuer: 'other', cert: elsewhere }))
        await complains(/^spec\.sources\[0\]\.mtls\.cert\.secret\.namespace: must be shop/)
        await expect(get(port)).resolves.toMatchObject({ status: 503 })
      })
    })
  })
}
