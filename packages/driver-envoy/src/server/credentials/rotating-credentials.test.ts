import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'

import { Server } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Credential } from '@osm-ts/driver-api'

import { testAuthority } from '@osm-ts/driver-testkit'
import { createRotatingServerCredentials } from './rotating-credentials.js'

const serverRoot = testAuthority('server-root')
const clientRoot = testAuthority('client-root')
const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function listening() {
  const rotating = createRotatingServerCredentials()
  const grpc = new Server()
  const injector = grpc.createConnectionInjector(rotating.credentials)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    injector.injectConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.close()
    grpc.forceShutdown()
  })
  const { port } = server.address() as AddressInfo
  /** The common name that the server shows; rejects if either side refuses the other. */
  const handshake = (options: {
    credential?: Credential
    minVersion?: 'TLSv1.1'
    maxVersion?: 'TLSv1.1' | 'TLSv1.2'
  }) =>
    new Promise<string>((resolve, reject) => {
      const { credential, ...versions } = options
      const socket: TLSSocket = connect({
        host: '127.0.0.1',
        port,
        ca: serverRoot.certificate,
        servername: 'ads',
        ALPNProtocols: ['h2'],
        // Lets the client offer what it would refuse by itself.
        ciphers: 'DEFAULT@SECLEVEL=0',
        ...versions,
        ...(credential !== undefined && { cert: credential.chain, key: credential.privateKey }),
      })
      closers.push(() => socket.destroy())
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('closed')))
      // In TLS 1.3 a refused client learns it with the first bytes; the server's settings prove that it was let in.
      socket.once('data', () => resolve(String(socket.getPeerCertificate().subject.CN)))
    })
  return { rotating, handshake }
}

describe('rotating server credentials', () => {
  const client = clientRoot.issue('client')
  const server = (name: string) => serverRoot.issue(name, { dns: ['ads'] })

  it('show the first argument and verify clients by the second, whatever their types say', async () => {
    const { rotating, handshake } = await listening()
    rotating.replace({ credential: server('ads-1'), clientRoots: clientRoot.bundle })
    await expect(handshake({ credential: client })).resolves.toBe('ads-1')
  })

  it('refuse a client without a certificate, and one of other roots, be it those of the server', async () => {
    const { rotating, handshake } = await listening()
    rotating.replace({ credential: server('ads'), clientRoots: clientRoot.bundle })
    await expect(handshake({})).rejects.toThrow()
    await expect(handshake({ credential: serverRoot.issue('client') })).rejects.toThrow()
  })

  it('refuse TLS below 1.2', async () => {
    const { rotating, handshake } = await listening()
    rotating.replace({ credential: server('ads'), clientRoots: clientRoot.bundle })
    await expect(handshake({ credential: client, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow()
    await expect(handshake({ credential: client, maxVersion: 'TLSv1.2' })).resolves.toBe('ads')
  })

  it('close connections until there is a certificate', async () => {
    const { handshake } = await listening()
    await expect(handshake({ credential: client })).rejects.toThrow()
  })

  it('show the new certificate, and verify by the new roots, from the next handshake on', async () => {
    const { rotating, handshake } = await listening()
    rotating.replace({ credential: server('ads-1'), clientRoots: clientRoot.bundle })
    await expect(handshake({ credential: client })).resolves.toBe('ads-1')
    const nextRoot = testAuthority('next-root')
    rotating.replace({
      credential: server('ads-2'),
      clientRoots: { id: '2', certificates: [nextRoot.certificate, clientRoot.certificate] },
    })
    await expect(handshake({ credential: client })).resolves.toBe('ads-2')
    await expect(handshake({ credential: nextRoot.issue('client') })).resolves.toBe('ads-2')
    rotating.replace({ credential: server('ads-3'), clientRoots: nextRoot.bundle })
    await expect(handshake({ credential: client })).rejects.toThrow()
  })

  it('keep what they have if what comes is of no use', async () => {
    const { rotating, handshake } = await listening()
    const good = server('ads')
    rotating.replace({ credential: good, clientRoots: clientRoot.bundle })
    const mixed = { ...good, privateKey: server('other').privateKey }
    expect(() => rotating.replace({ credential: mixed, clientRoots: clientRoot.bundle })).toThrow()
    expect(() => rotating.replace({ credential: good, clientRoots: { id: '0', certificates: [] } })).toThrow(/no roots/)
    await expect(handshake({ credential: client })).resolves.toBe('ads')
  })
})
