import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { called, everybody, served, type TestPolicy } from '@osm-ts/driver-testkit'

import { CERTIFICATE } from '../agent/files.mjs'
import { underLoad } from '../test/load.js'
import { ask, freePort, MeshFixture, type Sidecar, until } from '../test/mesh.js'

/** Against hanging: reloads take a while where others use the machine too. */
const TIMEOUT_MS = 120_000

describe('sidecars with certificates for their own keys', () => {
  const fixture = new MeshFixture('perProxy')
  let http = 0
  let inbound = 0
  let client: Sidecar
  let server: Sidecar
  let serves: TestPolicy

  beforeAll(async () => {
    await fixture.start()
    http = await freePort()
    inbound = await freePort()
    fixture.certify('buyer')
    fixture.certify('shop', ['shop'])
    client = await fixture.sidecar('buyer')
    server = await fixture.sidecar('shop')
    serves = served('shop', inbound, await fixture.application('shop'), [{ allow: everybody }])
    const calls = called([{ name: 'shop', endpoints: [inbound] }], {
      listen: { outboundHttp: { address: '127.0.0.1', port: http } },
    })
    await Promise.all([fixture.apply(server, 'shop', serves), fixture.apply(client, 'buyer', calls)])
  }, TIMEOUT_MS)
  afterAll(async () => fixture.stop())

  /** The public half of the key in the file of a sidecar. */
  const keyOf = async ({ folder }: Sidecar): Promise<KeyObject> =>
    createPublicKey(await readFile(join(folder, 'sidecar.key'), 'utf8'))

  /** Serial number of the last certificate for the key that a sidecar has now, in lower case. */
  async function issuedFor(sidecar: Sidecar): Promise<string> {
    const key = await keyOf(sidecar)
    const own = fixture.forProxyKeys.findLast(({ chain }) => new X509Certificate(chain).publicKey.equals(key))
    return own?.serialNumber.toLowerCase() ?? 'none'
  }

  async function expectOwn(sidecar: Sidecar): Promise<void> {
    await until(
      () => `its own certificate: ${sidecar.said()}`,
      async () => (await sidecar.serial()) === (await issuedFor(sidecar)),
    )
  }

  it('carry requests under chains for the keys in their files', async () => {
    await Promise.all([expectOwn(client), expectOwn(server)])
    expect(await ask(http, 'shop.default', '/')).toMatchObject({ status: 200 })
    const [own = ''] = (await readdir(server.folder)).filter((name) => name.startsWith('osm-haproxy-'))
    expect(await readFile(join(server.folder, own, CERTIFICATE), 'utf8')).toContain(
      await readFile(join(server.folder, 'sidecar.key'), 'utf8'),
    )
  })

  it(
    'prove a key that took the place of theirs with the next poll, get a chain for it, and lose no request',
    async () => {
      const before = await keyOf(server)
      const worker = await server.worker()
      const load = { connections: 4, methods: ['GET', 'POST'] }
      const { sent, lost } = await underLoad(http, 'shop.default', load, async () => {
        await fixture.certifyProxy(server, 'shop')
        expect((await keyOf(server)).equals(before)).toBe(false)
        // What is new ends the poll that waits, which was begun with the former key.
        fixture.certify('shop', ['shop'])
        await expectOwn(server)
      })
      expect(sent).toBeGreaterThan(0)
      expect(lost).toEqual([])
      expect(await server.worker()).toBe(worker)
      expect(await ask(http, 'shop.default', '/')).toMatchObject({ status: 200 })
    },
    TIMEOUT_MS,
  )

  it('are sent no key, and one that does not say that it can use its own is sent a shared one', async () => {
    const proxy = fixture.host.admit('c0ffee00-0000-4000-8000-999999999999', 'buyer.default')
    const policy = { uuid: 'c0ffee00-0000-4000-8000-999999999999', admin: await freePort() }
    fixture.publish({ ...client, ...policy }, 'buyer', called([]))
    const poll = (query: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const { chain: cert, privateKey: key } = proxy.credential
        const ca = fixture.host.controlPlane.certificate
        const options = { host: '127.0.0.1', port: fixture.server.port, servername: 'ads', ca, cert, key, agent: false }
        const sent = request({ ...options, path: `/v1/document?${query}` }, (response) => {
          let body = ''
          response.on('data', (chunk: Buffer) => (body += chunk.toString()))
          response.once('end', () => resolve(body))
        })
        sent.once('error', reject)
        sent.end()
      })
    expect(JSON.parse(await poll('has=&key=proxy'))).toMatchObject({
      key: 'proxy',
      certificate: expect.not.stringContaining('PRIVATE KEY'),
    })
    const shared = JSON.parse(await poll('has=')) as { readonly certificate: string }
    expect(shared).not.toHaveProperty('key')
    expect(shared.certificate).toContain('PRIVATE KEY')
  })
})
