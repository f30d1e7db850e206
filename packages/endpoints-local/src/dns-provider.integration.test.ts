import { createSocket, type Socket } from 'node:dgram'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { JsonObject, ProviderAnswer, ProviderContext } from '@osm-ts/endpoints-api'
import { checkProvider } from '@osm-ts/endpoints-testkit'

import { dnsProvider } from './dns-provider.js'

/** A record: its type, time to live in seconds, and data. */
type DnsRecord = readonly [type: 'A' | 'AAAA' | 'SRV', ttl: number, data: Buffer]
const types = { A: 1, AAAA: 28, SRV: 33 } as const

const a = (text: string, ttl = 60): DnsRecord => ['A', ttl, Buffer.from(text.split('.').map(Number))]
const aaaa = (last: number, ttl = 60): DnsRecord => [
  'AAAA',
  ttl,
  Buffer.from([0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), last]),
]
const srv = (priority: number, weight: number, port: number, target: string): DnsRecord => {
  const head = Buffer.alloc(6)
  for (const [index, value] of [priority, weight, port].entries()) head.writeUInt16BE(value, index * 2)
  return ['SRV', 60, Buffer.concat([head, encodeName(target)])]
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

describe('the DNS provider', () => {
  let server: Socket
  let end: AbortController
  let records: Map<string, readonly DnsRecord[]>
  let isBroken: boolean
  let answers: ProviderAnswer[]

  beforeEach(async () => {
    records = new Map()
    answers = []
    isBroken = false
    end = new AbortController()
    server = createSocket('udp4')
    server.on('message', (query, from) => {
      // No server answers for this name.
      if (!query.includes('mute')) server.send(respond(query), from.port, from.address)
    })
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  })
  afterEach(() => {
    end.abort()
    server.close()
  })

  function respond(query: Buffer): Buffer {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString())
      at += 1 + length
    }
    const type = query.readUInt16BE(at + 1)
    const found = records.get(labels.join('.').toLowerCase())
    const matching = (found ?? []).filter(([name]) => types[name] === type)
    const head = Buffer.from(query.subarray(0, 12))
    // An answer, with SERVFAIL or NXDOMAIN where there is none.
    head.writeUInt16BE(0x8180 | (isBroken ? 2 : found === undefined ? 3 : 0), 2)
    head.writeUInt16BE(isBroken ? 0 : matching.length, 6)
    head.writeUInt32BE(0, 8)
    const answered = matching.map(([name, ttl, data]) => {
      const fixed = Buffer.alloc(12)
      fixed.writeUInt16BE(0xc00c, 0)
      fixed.writeUInt16BE(types[name], 2)
      fixed.writeUInt16BE(1, 4)
      fixed.writeUInt32BE(ttl, 6)
      fixed.writeUInt16BE(data.length, 10)
      return Buffer.concat([fixed, data])
    })
    return Buffer.concat([head, query.subarray(12, at + 5), ...(isBroken ? [] : answered)])
  }

  async function start(...services: readonly JsonObject[]): Promise<void> {
    const silent = () => undefined
    const context: ProviderContext = {
      contractVersion: 1,
      settings: {
        servers: [`127.0.0.1:${server.address().port}`],
        minTtlSeconds: 1,
        maxTtlSeconds: 1,
        services: services.map((service) => ({
          service: { namespace: 'shop', name: 'store' },
          serviceAccount: 'store',
          sidecar: {},
          ...service,
        })),
      },
      signal: end.signal,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      resources: { list: () => [], subscribe: () => silent },
      publish: (answer) => void answers.push(answer),
      report: silent,
      reportStatus: silent,
      countCall: silent,
    }
    await dnsProvider.start(context)
  }

  /** Waits for the next answer that is published. */
  async function next(): Promise<ProviderAnswer['services'][number] | undefined> {
    const count = answers.length
    while (answers.length === count) await new Promise((resolve) => setTimeout(resolve, 20))
    return answers.at(-1)?.services[0]
  }

  it('resolves the addresses of a host, both families, and renews them after their time to live', async () => {
    records.set('db.example.com', [a('198.51.100.2'), a('198.51.100.1'), aaaa(7)])
    await start({ host: 'db.example.com' })
    const addresses = async () => (await next())?.instances.map((it) => it.addresses[0])
    await expect(addresses()).resolves.toEqual(['198.51.100.1', '198.51.100.2', '2001:db8::7'])
    records.set('db.example.com', [a('198.51.100.3')])
    await expect(addresses()).resolves.toEqual(['198.51.100.3'])
    records.delete('db.example.com')
    await expect(addresses()).resolves.toEqual([])
  })

  it('resolves SRV records of the first priority, with their ports and weights', async () => {
    records.set('_store._tcp.example.com', [
      srv(10, 30, 8443, 'one.example.com'),
      srv(10, 0, 9443, 'two.example.com'),
      srv(20, 50, 7443, 'spare.example.com'),
    ])
    records.set('one.example.com', [a('198.51.100.1')])
    records.set('two.example.com', [a('198.51.100.2')])
    records.set('spare.example.com', [a('198.51.100.3')])
    await start({ srv: '_store._tcp.example.com', portName: 'main' })
    const instances = (await next())?.instances ?? []
    expect(instances.map(({ addresses, ports, weight }) => [addresses[0], ports, weight])).toEqual([
      ['198.51.100.1', [{ name: 'main', port: 8443 }], 30],
      ['198.51.100.2', [{ name: 'main', port: 9443 }], 1],
    ])
  })

  it('publishes nothing before each name was resolved, or for four seconds', async () => {
    records.set('db.example.com', [a('198.51.100.1')])
    const other = { namespace: 'shop', name: 'other' }
    await start({ host: 'db.example.com' }, { service: other, host: 'mute.example.com' })
    await next()
    expect(
      answers[0]?.services.map(({ service, instances, stale }) => [service.name, instances.length, stale]),
    ).toEqual([
      ['store', 1, undefined],
      ['other', 0, 'mute.example.com has not been resolved yet'],
    ])
  })

  it('joins the records of all names of a service', async () => {
    records.set('one.example.com', [a('198.51.100.1')])
    records.set('two.example.com', [a('198.51.100.2'), a('198.51.100.1')])
    await start({ host: 'one.example.com' }, { host: 'two.example.com' })
    const addresses = async () => (await next())?.instances.map((it) => it.addresses[0]).sort()
    await expect(addresses()).resolves.toEqual(['198.51.100.1', '198.51.100.2'])
    await expect(addresses()).resolves.toEqual(['198.51.100.1', '198.51.100.2'])
    isBroken = true
    let found = await next()
    while (found?.stale !== 'one.example.com cannot be resolved: ESERVFAIL') found = await next()
    expect(found.instances.map(({ id }) => id)).toEqual(['198.51.100.1', '198.51.100.2'])
  })

  it('keeps the last records, as stale, while the server fails', async () => {
    records.set('db.example.com', [a('198.51.100.1')])
    await start({ host: 'db.example.com' })
    const good = await next()
    isBroken = true
    await expect(next()).resolves.toEqual({ ...good, stale: 'db.example.com cannot be resolved: ESERVFAIL' })
    isBroken = false
    await expect(next()).resolves.toEqual(good)
  })

  it('conforms to the contract of endpoints providers', async () => {
    records.set('db.example.com', [a('198.51.100.1', 1)])
    const results = await checkProvider({
      plugin: dnsProvider,
      settings: {
        servers: [`127.0.0.1:${server.address().port}`],
        minTtlSeconds: 1,
        services: [{ service: { namespace: 'shop', name: 'store' }, host: 'db.example.com' }],
      },
      outage: {
        begin: async () => {
          isBroken = true
        },
        end: async () => {
          isBroken = false
        },
      },
    })
    const others = results.filter(({ outcome }) => outcome !== 'passed')
    expect(others.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      'answer.namespaces not made',
      'status.form not made',
      'objects.removed not made',
    ])
  })
})
