import { request as httpsRequest } from 'node:https'

import { afterEach, describe, expect, it } from '@jest/globals'
import { fastify, type FastifyInstance } from 'fastify'
import { createLogger, Metrics, type SpiffeBundleDocument } from '@osm-ts/core'

import { ads, proxy, TresorFixture } from '../../core/test/certificates/tresor-fixture.js'

import { type HealthSources, healthServer } from './health-server.js'
import { listen } from './listen.js'
import { healthLimits } from './server-limits.js'

const sources = (alive: boolean, ready: boolean): HealthSources => ({
  alive: async () => alive,
  ready: async () => ready,
  metrics: async () => ({ contentType: 'text/plain', body: 'up 1\n' }),
  version: { version: 'v1', git_commit: 'abc', build_date: 'now' },
  smiVersions: { TrafficTarget: 'access.smi-spec.io/v1alpha3' },
})

const health = {
  name: 'health',
  limits: healthLimits,
  metrics: new Metrics(),
  logger: createLogger('test', 'disabled', { write: () => undefined }),
}

const servers: FastifyInstance[] = []
const open = (alive = true, ready = true): FastifyInstance => {
  const server = healthServer(sources(alive, ready))
  servers.push(server)
  return server
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

describe('healthServer', () => {
  it.each([
    ['/health/alive', 200, 'Service is alive'],
    ['//health/alive', 200, 'Service is alive'],
    ['//healthz', 200, 'Health OK'],
    ['/health/ready', 200, 'Service is ready'],
    ['/healthz', 200, 'Health OK'],
    ['/metrics', 200, 'up 1\n'],
    ['/version', 200, '{"version":"v1","git_commit":"abc","build_date":"now"}'],
    ['/smi/version', 200, '{"TrafficTarget":"access.smi-spec.io/v1alpha3"}'],
  ])('answers %s', async (url, status, body) => {
    const response = await open().inject({ url })
    expect([response.statusCode, response.body]).toEqual([status, body])
  })

  it('tells the roots of workloads as soon as they are known, and only where a program has them', async () => {
    const known: { document?: SpiffeBundleDocument } = {}
    const server = healthServer({ ...sources(true, true), trustBundle: () => known.document })
    servers.push(server)
    expect((await server.inject({ url: '/spiffe/bundle' })).statusCode).toBe(503)
    const document: SpiffeBundleDocument = {
      keys: [{ use: 'x509-svid', kty: 'EC', x5c: ['MIIB'] }],
      spiffe_sequence: 7,
      spiffe_refresh_hint: 300,
    }
    known.document = document
    const response = await server.inject({ url: '/spiffe/bundle' })
    expect([response.statusCode, response.json()]).toEqual([200, document])
    expect(response.headers).toMatchObject({
      'content-type': expect.stringContaining('application/json'),
      'cache-control': 'max-age=300',
    })
    expect((await open().inject({ url: '/spiffe/bundle' })).statusCode).toBe(404)
  })

  it('tells of drivers to this machine alone', async () => {
    const driver = { name: 'acme', origin: 'package', state: 'ready', failurePolicy: 'Fail', version: '1' } as const
    const server = healthServer({ ...sources(true, true), drivers: () => [driver] })
    servers.push(server)
    const ask = async (remoteAddress: string) => server.inject({ url: '/debug/drivers', remoteAddress })
    expect((await ask('127.0.0.1')).json()).toEqual({ drivers: [driver] })
    expect((await ask('10.1.2.3')).statusCode).toBe(403)
    expect((await open().inject({ url: '/debug/drivers' })).statusCode).toBe(404)
    const rebound = await server.inject({ url: '/debug/drivers', headers: { host: 'attacker.example' } })
    expect(rebound.statusCode).toBe(421)
  })

  it('says 503 where a probe fails', async () => {
    const server = open(false, false)
    expect((await server.inject({ url: '/health/alive' })).statusCode).toBe(503)
    expect((await server.inject({ url: '/health/ready' })).statusCode).toBe(503)
    expect((await server.inject({ url: '/healthz' })).statusCode).toBe(200)
  })
})

describe('listen', () => {
  it('listens on all addresses where none is given', async () => {
    const port = await listen(open(), { host: '', port: 0 }, health)
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  })

  it('says which server could not have which port', async () => {
    const port = await listen(open(), { host: '127.0.0.1', port: 0 }, health)
    await expect(listen(open(), { host: '127.0.0.1', port }, health)).rejects.toMatchObject({
      code: 'OSM_PROGRAM_LISTEN',
      message: expect.stringContaining(`the health server cannot listen on port ${port} of 127.0.0.1`),
    })
  })

  it('says so where the address is not of this machine', async () => {
    await expect(listen(open(), { host: '192.0.2.1', port: 0 }, health)).rejects.toMatchObject({
      code: 'OSM_PROGRAM_LISTEN',
    })
  })

  it('serves peers whose certificate has its names outside of the subject, for want of room', async () => {
    const mesh = await TresorFixture.open()
    try {
      const [own, peer] = [await mesh.issue(ads), await mesh.issue(proxy)]
      const ca = own.issuingCA.chain
      const server = fastify({ https: { cert: own.chain, key: own.privateKey(), ca, requestCert: true } })
      servers.push(server)
      server.get('/', async () => 'served')
      const limits = { ...healthLimits, anonymous: { max: 0, maxPerKey: 0 }, authenticated: { max: 8, maxPerKey: 8 } }
      const port = await listen(server, { host: '127.0.0.1', port: 0 }, { ...health, limits })
      const status = await new Promise((resolve, reject) => {
        const asking = httpsRequest({
          port,
          ca,
          cert: peer.chain,
          key: peer.privateKey(),
          checkServerIdentity: () => undefined,
        })
        asking
          .once('response', (response) => resolve(response.resume().statusCode))
          .once('error', reject)
          .end()
      })
      expect(status).toBe(200)
    } finally {
      mesh.provider.close()
    }
  })
})
