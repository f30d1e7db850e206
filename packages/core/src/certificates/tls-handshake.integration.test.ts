import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { ads, proxy, service, TresorFixture, uuid } from '../../test/certificates/tresor-fixture.js'
import type { Certificate } from './certificate.js'
import type { Authority } from './kinds.js'

let mesh: TresorFixture

beforeAll(async () => {
  mesh = await TresorFixture.open()
})

afterAll(() => mesh.provider.close())

describe('a TLS handshake', () => {
  interface Side {
    readonly certificate: Certificate
    readonly trusts: Authority
  }

  /** How OpenSSL says that no trusted root has signed. */
  const untrusted = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'

  /** Resolves to the DER of what the server saw, or rejects with what either side raised. */
  async function handshake(server: Side, client: Side, servername: string): Promise<Buffer> {
    const options = ({ certificate, trusts }: Side) => ({
      cert: certificate.chain,
      key: certificate.privateKey(),
      ca: [...mesh.provider.trustBundle(trusts)],
      minVersion: 'TLSv1.2' as const,
    })
    // As with rejectUnauthorized, but that closes the connection without saying why.
    const listener = tls.createServer({ ...options(server), requestCert: true, rejectUnauthorized: false })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo // a TCP listener has one
    const socket = tls.connect({ ...options(client), host: '127.0.0.1', port, servername })
    try {
      const accepted = new Promise<Buffer>((resolve, reject) => {
        listener.once('secureConnection', (peer) => {
          const { raw } = peer.getPeerCertificate()
          peer.end()
          if (peer.authorized) resolve(raw)
          else reject(Object.assign(new Error('client refused'), { code: String(peer.authorizationError) }))
        })
        listener.once('tlsClientError', reject)
      })
      const connected = new Promise<void>((resolve, reject) => {
        socket.once('secureConnect', resolve)
        socket.once('error', reject)
      })
      const [raw] = await Promise.all([accepted, connected])
      return raw
    } finally {
      socket.on('error', () => undefined) // the refusal of the other side may still come in
      socket.destroy()
      listener.close()
    }
  }

  const controlPlane = async (): Promise<Side> => ({ certificate: await mesh.issue(ads), trusts: 'control-plane' })
  const sidecar = async (): Promise<Side> => ({ certificate: await mesh.issue(proxy), trusts: 'control-plane' })
  const workload = async (): Promise<Side> => ({ certificate: await mesh.issue(service), trusts: 'workload' })

  it('succeeds between a proxy and the control plane', async () => {
    for (const name of ['ads.cluster.local', 'osm-controller.osm-system.svc.cluster.local']) {
      const raw = await handshake(await controlPlane(), await sidecar(), name)
      expect(mesh.verifier('control-plane').verify(raw, Date.now())).toMatchObject({ kind: 'proxy', uuid })
    }
  })

  it('succeeds between sidecars, by the name of the service or by the principal', async () => {
    for (const name of ['books.bookstore.svc.cluster.local', 'bookbuyer.bookstore.cluster.local']) {
      const raw = await handshake(await workload(), await workload(), name)
      expect(mesh.verifier('workload').verify(raw, Date.now())).toMatchObject({ kind: 'service' })
    }
  })

  it('succeeds with names that no subject has room for', async () => {
    const serviceAccount = { namespace: 'bookstore', name: `account-${'x'.repeat(60)}` }
    const long = {
      certificate: await mesh.issue({ kind: 'service', serviceAccount, services: [] }),
      trusts: 'workload',
    } as const
    const raw = await handshake(long, long, long.certificate.commonName)
    expect(mesh.verifier('workload').verify(raw, Date.now())).toMatchObject({ serviceAccount })
  })

  it('succeeds with RSA keys', async () => {
    const rsa = {
      certificate: await mesh.issue(service, { key: { algorithm: 'RSA', bits: 2048 } }),
      trusts: 'workload',
    } as const
    const raw = await handshake(rsa, rsa, 'books.bookstore.svc.cluster.local')
    expect(mesh.verifier('workload').verify(raw, Date.now())).toMatchObject({ kind: 'service' })
  })

  it('fails where a service certificate asks the control plane to let it in', async () => {
    const intruder: Side = { ...(await workload()), trusts: 'control-plane' }
    await expect(handshake(await controlPlane(), intruder, 'ads.cluster.local')).rejects.toMatchObject({
      code: untrusted,
    })
  })

  it('fails where a service certificate passes itself off as the control plane', async () => {
    const impostor: Side = {
      certificate: await mesh.issue(service, { dnsNames: ['ads.cluster.local'] }),
      trusts: 'control-plane',
    }
    await expect(handshake(impostor, await sidecar(), 'ads.cluster.local')).rejects.toMatchObject({ code: untrusted })
  })

  it('fails where a proxy or control-plane certificate is used between sidecars', async () => {
    const name = 'books.bookstore.svc.cluster.local'
    for (const foreign of [await mesh.issue(proxy), await mesh.issue(ads)])
      await expect(
        handshake(await workload(), { certificate: foreign, trusts: 'workload' }, name),
      ).rejects.toMatchObject({ code: untrusted })
    const server = { certificate: await mesh.issue(ads, { dnsNames: [name] }), trusts: 'workload' } as const
    await expect(handshake(server, await workload(), name)).rejects.toMatchObject({ code: untrusted })
  })

  it('fails where the server is another than the one that was called', async () => {
    const server = await workload()
    await expect(handshake(server, await workload(), 'other.bookstore.svc.cluster.local')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })
})
