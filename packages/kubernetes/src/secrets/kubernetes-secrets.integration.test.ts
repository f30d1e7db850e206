import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@osm-ts/driver-api/toolkit'

import { partnerCertificates, type TlsData } from '../../../core/test/certificates/partner.js'
import { FakeClock } from '../../../core/test/certificates/fake-clock.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { isWatch } from '../../test/fake-faults.js'
import { MemoryLogger } from '../../test/memory-logger.js'
import { resourceTypes } from '../resource-types.js'
import { KubernetesSecrets } from './kubernetes-secrets.js'

const { Secret } = resourceTypes
const [first, second] = (await partnerCertificates('first', 'second')) as readonly [TlsData, TlsData]
const partner = { namespace: 'shop', name: 'partner' }
const key = 'shop/partner'

let server: FakeApiServer
let clock: FakeClock
let stop: AbortController
let logger: MemoryLogger
let secrets: KubernetesSecrets

beforeEach(async () => {
  server = await FakeApiServer.start()
  clock = new FakeClock()
  stop = new AbortController()
  logger = new MemoryLogger()
  secrets = new KubernetesSecrets({ api: await server.api(), clock, random: () => 0.5, logger, signal: stop.signal })
})

afterEach(async () => {
  stop.abort()
  await secrets.finished()
  await server.close()
})

function put(data: Readonly<Record<string, string>>, name = partner): void {
  const encoded = Object.entries(data).map(([member, text]) => [member, Buffer.from(text).toString('base64')] as const)
  server.put(Secret, name, { type: 'kubernetes.io/tls', data: Object.fromEntries(encoded) })
}

function serial(): string | undefined {
  return secrets.credential(partner)?.serialNumber
}

describe('Secrets of a cluster', () => {
  it('are read by name and no other way', async () => {
    put(first)
    put(second, { namespace: 'shop', name: 'neighbour' })
    secrets.follow([partner])
    await secrets.settled(stop.signal)
    expect(secrets.states()).toEqual(new Map([[key, { usable: true }]]))
    expect(secrets.credential({ namespace: 'shop', name: 'neighbour' })).toBeUndefined()
    await until(() => server.requests.length >= 2)
    for (const { path, query } of server.requests)
      expect([path, query.fieldSelector]).toEqual(['/api/v1/namespaces/shop/secrets', 'metadata.name=partner'])
  })

  it('are followed as they change, vanish and return', async () => {
    put(first)
    secrets.follow([partner])
    await secrets.settled(stop.signal)
    const before = serial()
    put(second)
    await until(() => serial() !== before)
    put({ ...second, 'tls.key': first['tls.key'] })
    await until(() => serial() === undefined)
    expect(secrets.states().get(key)).toMatchObject({ usable: false, fault: expect.stringContaining('is not the key') })
    server.remove(Secret, partner)
    await until(() => JSON.stringify(secrets.states().get(key)).includes('does not exist'))
    put(first)
    await until(() => serial() === before)
  })

  it('are told of when they change and not when they are written again', async () => {
    put(first)
    secrets.follow([partner])
    await secrets.settled(stop.signal)
    const told: unknown[] = []
    secrets.subscribe(() => told.push(secrets.states().get(key)))
    put({ ...first, more: 'x' })
    server.remove(Secret, partner)
    await until(() => told.length > 0)
    expect(told).toEqual([{ usable: false, fault: 'does not exist' }])
  })

  it('say why they cannot be read, and hold up a start no longer than some seconds', async () => {
    server.fault({ action: { kind: 'status', status: 403, reason: 'Forbidden', message: 'not for you' } })
    put(first)
    secrets.follow([partner])
    await secrets.settled(stop.signal)
    expect(secrets.states().get(key)).toMatchObject({
      usable: false,
      fault: expect.stringMatching(/^cannot be read: /),
    })
    await clock.pass(60_000)
    await until(() => serial() !== undefined)

    server.fault({ action: { kind: 'hang' } })
    secrets.follow([{ namespace: 'shop', name: 'slow' }])
    const settled = secrets.settled(stop.signal)
    await clock.pass(5_000)
    await settled
    expect(secrets.states().size).toBe(0)
  })

  it('keep what was read while the API server cannot be reached, and forget what no one needs', async () => {
    put(first)
    server.fault({ action: { kind: 'status', status: 403, reason: 'Forbidden' }, when: isWatch })
    secrets.follow([partner])
    await secrets.settled(stop.signal)
    await until(() => logger.lines.length > 0)
    expect(serial()).toBeDefined()
    secrets.follow([])
    expect([serial(), secrets.states().size]).toEqual([undefined, 0])
    expect(JSON.stringify(logger.lines)).not.toContain('PRIVATE')
  })
})
