import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Certificate, createLogger, Metrics } from '@osm-ts/core'

import { ads, proxy, TresorFixture } from '../../../core/test/certificates/tresor-fixture.js'
import { readClientCa } from './client-ca.js'
import type { ServingKey } from './serving-certificate.js'
import { type WebhookServer, webhookServer } from './webhook-server.js'

const review = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u-1', kind: { group: '', version: 'v1', kind: 'Pod' } },
})
const keyOf = (certificate: Certificate): ServingKey => ({
  cert: certificate.chain,
  key: certificate.privateKey(),
})

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-client-ca-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

describe('a webhook that requests a client certificate', () => {
  let server: WebhookServer
  let roots: TresorFixture
  let clients: TresorFixture

  beforeEach(async () => {
    roots = await TresorFixture.open()
    clients = await TresorFixture.open()
    const path = join(folder, 'ca.crt')
    await writeFile(path, `# of the API server\n${clients.provider.rootCertificate('control-plane').chain}`)
    server = webhookServer({
      path: '/review',
      kinds: ['Pod'],
      review: () => Promise.resolve({ allowed: true, warnings: [] }),
      key: keyOf(await roots.issue(ads)),
      clientCa: await readClientCa(path),
      bodyLimit: 1 << 20,
      timeoutMs: 1000,
      logger: createLogger('test', 'disabled', { write: () => undefined }),
      metrics: new Metrics(),
    })
    await server.app.listen({ host: '127.0.0.1', port: 0 })
  })

  afterEach(() => server.app.close())

  /** The status of an answer. */
  function ask(key?: ServingKey): Promise<number | undefined> {
    const { port } = server.app.server.address() as AddressInfo
    const ca = roots.provider.rootCertificate('control-plane').chain
    const headers = { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, method: 'POST', path: '/review', headers, ca, agent: false, ...key }
      request(options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end(review)
    })
  }

  it('answers who has one of that CA, and no one else', async () => {
    const known = keyOf(await clients.issue(proxy))
    const stranger = keyOf(await roots.issue(proxy))
    for (const replaced of [false, true]) {
      if (replaced) server.replaceKey(keyOf(await roots.issue(ads)))
      await expect(ask(known)).resolves.toBe(200)
      await expect(ask(stranger)).rejects.toThrow()
      await expect(ask()).rejects.toThrow()
    }
  })
})

describe('the file of a client CA', () => {
  it('is not looked at where none is named', async () => {
    await expect(readClientCa('')).resolves.toBeUndefined()
  })

  it.each([
    ['is missing', undefined, 'ENOENT'],
    ['is empty', '', 'contains no certificate'],
    ['holds no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'cannot be used'],
  ])('that %s is an error', async (_, text, reason) => {
    const path = join(folder, 'ca.crt')
    if (text !== undefined) await writeFile(path, text)
    await expect(readClientCa(path)).rejects.toMatchObject({
      code: 'OSM_ADMISSION_CLIENT_CA',
      message: expect.stringContaining(reason),
    })
  })
})
