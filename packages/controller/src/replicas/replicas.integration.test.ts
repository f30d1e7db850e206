import { request } from 'node:https'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type CertificateSubject,
  createLogger,
  defaultCertificateSettings,
  makeObjectKey,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  newProxyUUID,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import type { ObjectRefusals } from '@osm-ts/kubernetes'
import { listen, replicaLimits } from '@osm-ts/program'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { domains, silent } from '../../test/controller-fixture.js'
import { ownAddress, replicaName, replicaSubject } from './replica-name.js'
import { parseReplicaReport, ReplicaReports, type ReplicaReport, ALL_OBJECTS, toldObjects } from './replica-report.js'
import { REPORT_PATH, replicaServer } from './replica-server.js'
import { reportToLeader } from './report-to-leader.js'

const refusal: ObjectRefusals = {
  object: 'Egress/shop/out',
  first: [{ proxy: 'shop/client-0', message: 'no such field', field: 'spec.hosts[0]' }],
  count: 4,
}
const other = {
  kind: 'control-plane',
  name: 'osm-injector',
  dnsNames: ['osm-injector.osm-system.svc'],
  ipAddresses: [],
} as const
const sidecar = {
  kind: 'proxy',
  uuid: newProxyUUID(),
  serviceAccount: { namespace: 'osm-system', name: 'osm-controller-replica' },
} as const

describe('replicas that tell the leader', () => {
  let end: AbortController
  let provider: TresorProvider
  let heard: ReplicaReport[]
  let address: string
  const ends: (() => Promise<unknown>)[] = []

  const manager = (): MeshCertificateManager =>
    new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })

  beforeEach(async () => {
    end = new AbortController()
    heard = []
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const server = await replicaServer({
      certificates: manager(),
      domains,
      onReport: (report) => heard.push(report) < 100,
      now: () => Date.now(),
    })
    const following = server.follow(end.signal)
    const logger = createLogger('test', 'disabled', { write: () => undefined })
    const options = { name: 'replicas', limits: replicaLimits, metrics: new Metrics(), logger }
    const port = await listen(server.app, { host: '127.0.0.1', port: 0 }, options)
    address = `127.0.0.1:${port}`
    ends.push(async () => Promise.all([following, server.app.close()]))
  })

  afterEach(async () => {
    end.abort()
    for (const stop of ends.splice(0)) await stop()
    provider.close()
  })

  /** Sends a body as the holder of a certificate; gives the status, or 0 where no connection comes about. */
  async function put(subject: CertificateSubject | undefined, body: string): Promise<number> {
    const held = subject === undefined ? undefined : (await manager().issueCertificate(subject)).credential()
    return new Promise((resolve) => {
      const sending = request({
        host: '127.0.0.1',
        port: address.split(':')[1],
        method: 'PUT',
        path: REPORT_PATH,
        headers: { 'content-type': 'application/json' },
        agent: false,
        servername: replicaName(domains),
        ca: [...provider.trustBundle('control-plane')],
        ...(held && { cert: held.chain, key: held.privateKey }),
      })
      sending.once('response', (response) => resolve(response.resume().statusCode ?? 0))
      sending.once('error', () => resolve(0)).end(body)
    })
  }

  it('are heard soon after each change, and again while nothing changes', async () => {
    let refusals: readonly ObjectRefusals[] = [refusal]
    const reporting = reportToLeader(
      {
        replica: 'two',
        leader: () => address,
        refusals: () => refusals,
        awaited: () => ['HTTPRoute/shop/store'],
        trust: () => undefined,
        certificates: manager(),
        domains,
        logger: silent(),
      },
      end.signal,
    )
    ends.push(() => reporting)
    await eventually(
      () => heard,
      (reports) => reports.length === 1,
    )
    refusals = []
    await eventually(
      () => heard,
      (reports) => reports.length === 2,
    )
    expect(heard).toEqual([
      { replica: 'two', refusals: [refusal], awaited: ['HTTPRoute/shop/store'] },
      { replica: 'two', refusals: [], awaited: ['HTTPRoute/shop/store'] },
    ])
    await eventually(
      () => heard,
      (reports) => reports.length === 3,
    )
  })

  it.each<[string, CertificateSubject | undefined, number]>([
    ['a controller', replicaSubject, 204],
    ['another program of the control plane', other, 403],
    ['a sidecar, whatever its service account is called', sidecar, 403],
    ['a caller without a certificate', undefined, 0],
  ])('hears %s: %#', async (_, subject, status) => {
    expect(await put(subject, JSON.stringify({ replica: 'two', refusals: [refusal] }))).toBe(status)
    expect(heard).toHaveLength(status === 204 ? 1 : 0)
  })

  it('does not show its certificate to a workload, whose root is another', async () => {
    const workload = {
      kind: 'service',
      serviceAccount: { namespace: 'shop', name: 'store' },
      services: [],
    } as const
    expect(await put(workload, '{}')).toBe(0)
  })

  it.each([
    '[]',
    '{"replica":"","refusals":[]}',
    '{"replica":"two","refusals":[{"object":"x"}]}',
    '{"replica":"two","refusals":[],"awaited":[1]}',
  ])('refuses %s, which is not a report', async (body) => {
    expect(await put(replicaSubject, body)).toBe(400)
  })
})

describe('what replicas have told', () => {
  it('is the sum of their last reports, without those that have fallen silent', () => {
    let now = 0
    const reports = new ReplicaReports(() => now)
    expect(reports.take({ replica: 'one', refusals: [], awaited: [] })).toBe(true)
    reports.take({ replica: 'two', refusals: [refusal], awaited: ['HTTPRoute/shop/store'] })
    now = 10_000
    reports.take({ replica: 'one', refusals: [{ ...refusal, count: 1 }], awaited: ['HTTPRoute/shop/front'] })
    expect(reports.refusals().map(({ count }) => count)).toEqual([1, 4])
    expect([...reports.awaited()].sort()).toEqual(['HTTPRoute/shop/front', 'HTTPRoute/shop/store'])
    now = 16_000
    expect(reports.refusals().map(({ count }) => count)).toEqual([1])
    expect([...reports.awaited()]).toEqual(['HTTPRoute/shop/front'])
  })

  it('is bounded', () => {
    const reports = new ReplicaReports(() => 0)
    const accepted = Array.from({ length: 300 }, (_, at) =>
      reports.take({ replica: String(at), refusals: [], awaited: [] }),
    )
    expect(accepted.filter(Boolean)).toHaveLength(256)
    expect(reports.take({ replica: '0', refusals: [refusal], awaited: [] })).toBe(true)
  })

  it('survives the way over JSON', () => {
    const trust = {
      signs: 'AA',
      next: 'BB',
      confirmed: ['AA'],
      sidecars: { connected: 2, missing: 1, first: ['shop/a'] },
      former: 0,
    }
    const report = { replica: 'one', refusals: [refusal], awaited: ['HTTPRoute/shop/store'], trust }
    expect(parseReplicaReport(JSON.parse(JSON.stringify(report)))).toEqual(report)
  })

  it('is without what it says of roots where that is unreadable', () => {
    const trust = { signs: 'AA', confirmed: ['AA'], former: 0, sidecars: { connected: 'two' } }
    const known = { replica: 'one', refusals: [], awaited: [] }
    expect(parseReplicaReport({ ...known, trust })).toEqual(known)
  })

  it('is read of a replica of an older version, which does not tell what it waits for', () => {
    expect(parseReplicaReport({ replica: 'one', refusals: [] })).toEqual({ replica: 'one', refusals: [], awaited: [] })
  })

  it('names objects that are waited for one by one, or all where there are too many', () => {
    const keys = (count: number) =>
      new Set(Array.from({ length: count }, (_, at) => makeObjectKey('HTTPRoute', 'shop', `r${at}`)))
    expect(toldObjects(keys(2))).toEqual(['HTTPRoute/shop/r0', 'HTTPRoute/shop/r1'])
    expect(toldObjects(keys(1000))).toHaveLength(1000)
    expect(toldObjects(keys(1001))).toEqual([ALL_OBJECTS])
  })
})

describe('the address of a replica', () => {
  it.each([
    ['10.0.0.1', undefined, '10.0.0.1:9094'],
    ['0.0.0.0', '10.0.0.2', '10.0.0.2:9094'],
    ['', 'fd00::2', '[fd00::2]:9094'],
    ['::', undefined, undefined],
  ])('of one that listens on "%s" in a pod with address %s is %s', (bindAddress, podIP, address) => {
    expect(ownAddress(bindAddress, podIP, 9094)).toBe(address)
  })
})
