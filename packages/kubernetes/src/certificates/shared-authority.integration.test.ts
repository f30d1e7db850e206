import { X509Certificate } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Authority, generateRoot, Metrics } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { fastClock } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { MemoryLogger } from '../../test/memory-logger.js'
import { resourceTypes } from '../resource-types.js'
import { SharedAuthority, type SharedAuthorityOptions } from './shared-authority.js'

const { Secret } = resourceTypes
const controlPlane = { namespace: 'osm-system', name: 'osm-ca-bundle-control-plane' }
const workload = { namespace: 'osm-system', name: 'osm-ca-bundle' }

let server: FakeApiServer
let end: AbortController
let logger: MemoryLogger
const running: Promise<void>[] = []
const opened: SharedAuthority[] = []

beforeEach(async () => {
  server = await FakeApiServer.start()
  end = new AbortController()
  logger = new MemoryLogger()
})

afterEach(async () => {
  end.abort(new Error('the test is over'))
  await Promise.all(running.splice(0))
  for (const { provider } of opened.splice(0)) provider.close()
  await server.close()
})

async function open(options: Partial<SharedAuthorityOptions> = {}): Promise<SharedAuthority> {
  const authority = await SharedAuthority.open({
    api: await server.api(),
    namespace: 'osm-system',
    secretName: 'osm-ca-bundle',
    labels: {},
    clock: fastClock(100),
    random: Math.random,
    logger,
    metrics: new Metrics(),
    signal: end.signal,
    ...options,
  })
  opened.push(authority)
  return authority
}

function follow(authority: SharedAuthority): void {
  running.push(authority.follow(end.signal))
}

/** Another root in the Secret, as `kubectl replace --force` leaves it. Gives it in PEM. */
async function replace(name: typeof workload, authority: Authority): Promise<string> {
  const { certificate, privateKey } = await generateRoot(authority, { algorithm: 'ECDSA' }, Date.now())
  server.remove(Secret, name)
  server.put(Secret, name, { data: { 'ca.crt': base64(certificate), 'private.key': base64(privateKey) } })
  return new X509Certificate(certificate).toString()
}

describe('an authority shared by Secrets', () => {
  it('has every replica sign by a root that was replaced, and trust both', async () => {
    const replicas = [await open(), await open()]
    for (const replica of replicas) follow(replica)
    for (const [name, authority] of [
      [controlPlane, 'control-plane'],
      [workload, 'workload'],
    ] as const) {
      const [before = ''] = replicas[0]?.provider.trustBundle(authority) ?? []
      const after = await replace(name, authority)
      for (const { provider } of replicas) {
        await until(() => provider.rootCertificate(authority).chain === after)
        expect(provider.trustBundle(authority)).toEqual([after, before])
      }
    }
    const told = logger.lines.filter(({ message }) => message === 'took up the roots of a Secret')
    expect(told).toHaveLength(4)
    expect(JSON.stringify(logger.lines)).not.toContain('PRIVATE')
  })

  it('takes up what was replaced between its start and the watch', async () => {
    const authority = await open()
    const after = await replace(workload, 'workload')
    follow(authority)
    await until(() => authority.provider.rootCertificate('workload').chain === after)
  })

  it('continues with its root while there is none, or one that cannot be used', async () => {
    const { provider } = await watching()
    const before = provider.trustBundle('workload')
    server.remove(Secret, workload)
    await until(() => logger.lines.some(({ message }) => message.includes('was deleted')))
    server.put(Secret, workload, { data: { 'ca.crt': base64('x'), 'private.key': base64('y') } })
    await until(() => logger.lines.some(({ fields }) => fields.code === 'OSM_CERT_STORE_CORRUPT'))
    expect(provider.trustBundle('workload')).toEqual(before)
    const after = await replace(workload, 'workload')
    await until(() => provider.rootCertificate('workload').chain === after)
  })

  it('asks again for a root that could not be read', async () => {
    const { provider } = await watching()
    const isGet = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
      method === 'GET' && path.endsWith(`/${workload.name}`)
    server.fault({ when: isGet, action: { kind: 'status', status: 503, reason: 'ServiceUnavailable' }, times: 3 })
    const after = await replace(workload, 'workload')
    await until(() => provider.rootCertificate('workload').chain === after)
  })

  it('follows nothing but what it was opened for', async () => {
    const authority = await open({ authorities: ['control-plane'] })
    follow(authority)
    const after = await replace(controlPlane, 'control-plane')
    await until(() => authority.provider.rootCertificate('control-plane').chain === after)
    expect(server.requests.filter(({ path }) => path.includes(workload.name) && !path.includes('-control-'))).toEqual(
      [],
    )
  })

  it('waits at its start for an API server that does not answer yet', async () => {
    server.fault({ action: { kind: 'status', status: 503, reason: 'ServiceUnavailable' }, times: 3 })
    await expect(open()).resolves.toMatchObject({ provider: { name: 'tresor' } })
    expect(logger.lines).toHaveLength(3)
    expect(logger.lines[0]).toMatchObject({ level: 'warn', fields: { step: 'certificate authority' } })
  })

  it('gives up on a Secret that no waiting mends', async () => {
    server.put(Secret, workload, { data: {} })
    await expect(open()).rejects.toMatchObject({ code: 'OSM_CERT_STORE_CORRUPT' })
    expect(logger.lines).toEqual([])
  })
})

/** One that watches both Secrets already. */
async function watching(): Promise<SharedAuthority> {
  const authority = await open()
  follow(authority)
  await until(() => server.requests.filter(({ query }) => query.watch !== undefined).length === 2)
  return authority
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
