import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type EndpointsPart, hashPart, type PolicyEndpoint, type SetPart } from '@osm-ts/driver-api/policy'
import { FakeHost } from '@osm-ts/driver-testkit'
import { fromBinary } from '@bufbuild/protobuf'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'

import { resourcesOf } from '../../../test/xds/resources.js'
import { XdsClient } from '../../../test/xds/xds-client.js'
import { ResourceDiffer } from '../../resources/resource-differ.js'
import { attributeRejection } from '../../translate/attribute-rejection.js'
import { EndpointTranslation } from '../../translate/upstreams/endpoint-sets.js'
import { FragmentCache } from '../../translate/encoding/fragments.js'
import { Memo } from '../../translate/encoding/memo.js'
import { PolicyReader, setTable } from '../../translate/policy-reader.js'
import { DEFAULT_HTTP_LIMITS } from '../../translate/settings.js'
import type { ResourceTranslator } from './translator-port.js'
import { XdsServer } from '../xds-server.js'

const buyer = '6e8a0b0e-0000-4000-8000-000000000001'
const other = '6e8a0b0e-0000-4000-8000-000000000002'

function endpoint(address: string): PolicyEndpoint {
  return {
    address,
    port: 8080,
    weight: 1,
    priority: 0,
    locality: { region: '', zone: '', subZone: '' },
    cluster: '',
  }
}

function endpoints(id: string, ...addresses: readonly string[]): EndpointsPart {
  return { kind: 'endpoints', id, endpoints: addresses.map(endpoint) }
}

/** A policy that names those parts, without their endpoints. */
function policyOf(...ids: readonly string[]) {
  const frames = ids.map((id) => endpoints(id))
  const set: SetPart = {
    kind: 'set',
    id: 'endpoints',
    of: 'endpoints',
    members: frames.map((part) => ({ id: part.id, hash: hashPart(part) })),
    sets: [],
  }
  return [{ endpoints: hashPart(set) }, [set, ...frames]] as const
}

/** Endpoints as they are translated, and nothing else. */
function endpointTranslator(): ResourceTranslator {
  const memo = new Memo()
  const translation = new EndpointTranslation(memo)
  const sets = setTable(memo)
  return {
    translate: (proxy, parts, revision) => {
      const reader = new PolicyReader(parts, sets, DEFAULT_HTTP_LIMITS, new FragmentCache())
      const { value } = memo.lease(() => translation.translate(proxy, reader))
      const { types, ...rest } = resourcesOf({}, revision)
      return {
        ...rest,
        types: {
          ...types,
          get endpoints() {
            return value.current
          },
        },
        endpoints: value,
      }
    },
    renew: (parts) => translation.renew(parts),
    release: () => undefined,
  }
}

describe('endpoints apart from policies', () => {
  let host: FakeHost
  let server: XdsServer
  let clients: XdsClient[]

  beforeEach(async () => {
    const differ = new ResourceDiffer()
    host = new FakeHost('envoy', true)
    server = new XdsServer(host.context(), {
      translator: endpointTranslator(),
      diff: differ.diff.bind(differ),
      trace: attributeRejection,
      times: { ageMs: 1_800_000, graceMs: 60_000, keepaliveMs: 30_000, drainMs: 0 },
    })
    await server.start()
    clients = []
  })

  afterEach(async () => {
    for (const client of clients) client.close()
    host.stop()
    await server.close()
  })

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve))
  }

  type Stream = ReturnType<XdsClient['delta']>
  type Response = Awaited<ReturnType<Stream['next']>>

  const assignments = ({ resources }: Response): readonly (readonly [string, readonly string[]])[] =>
    resources.map(({ resource }) => {
      const { clusterName, endpoints: groups } = fromBinary(
        ClusterLoadAssignmentSchema,
        resource?.value ?? new Uint8Array(),
      )
      const hosts = groups.flatMap(({ lbEndpoints }) => lbEndpoints).map(({ hostIdentifier: { value } }) => value)
      return [
        clusterName,
        hosts.map((found) => JSON.stringify(found, (_, member: unknown) => (typeof member === 'bigint' ? 0 : member))),
      ]
    })
  const addressesIn = (response: Response): readonly (readonly [string, readonly (string | undefined)[]])[] =>
    assignments(response).map(([name, hosts]) => [name, hosts.map((text) => /"address":"([^"]+)"/.exec(text)?.[1])])

  /** A stream that has its first endpoints. */
  async function connected(uuid: string): Promise<{ readonly stream: Stream; readonly first: Response }> {
    const client = new XdsClient({
      port: server.port,
      roots: host.controlPlane.certificate,
      credential: host.admit(uuid).credential,
    })
    clients.push(client)
    const stream = client.deltaEndpoints()
    stream.send({})
    const first = await stream.next()
    stream.send({ responseNonce: first.nonce })
    return { stream, first }
  }

  const sessionOf = (uuid: string): string =>
    [...server.streams].find(({ session }) => session.proxy.uuid === uuid)?.session.proxy.session ?? ''
  const reportsOf = (uuid: string) => host.reports.filter(({ session }) => session === sessionOf(uuid))

  it('tells every proxy whose policy names them, and no other, and reports what was acknowledged', async () => {
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1'))
    host.setEndpoints(endpoints('shop/other|8080', '10.0.9.1'))
    host.publishPolicy(buyer, ...policyOf('shop/store|8080'))
    host.publishPolicy(other, ...policyOf('shop/other|8080'))
    const { stream, first } = await connected(buyer)
    expect(addressesIn(first)).toEqual([['shop/store|8080', ['10.0.0.1']]])
    const stranger = await connected(other)
    await until(() => reportsOf(buyer).at(-1)?.complete === true && reportsOf(other).at(-1)?.complete === true)
    const before = reportsOf(other).length
    const generation = host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1', '10.0.0.2'))
    const response = await stream.next()
    expect(addressesIn(response)).toEqual([['shop/store|8080', ['10.0.0.1', '10.0.0.2']]])
    expect(reportsOf(buyer).some((report) => report.endpoints === generation)).toBe(false)
    stream.send({ responseNonce: response.nonce })
    await until(() => reportsOf(buyer).at(-1)?.endpoints === generation)
    expect(reportsOf(buyer).at(-1)).toMatchObject({ complete: true, parts: [] })
    // What comes next is the first that it hears of.
    host.setEndpoints(endpoints('shop/other|8080', '10.0.9.2'))
    expect(addressesIn(await stranger.stream.next())).toEqual([['shop/other|8080', ['10.0.9.2']]])
    expect(stranger.stream.received).toHaveLength(2)
    expect(reportsOf(other)).toHaveLength(before)
    expect(stream.received).toHaveLength(2)
  })

  it('gives a proxy that comes later what they are by then', async () => {
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1'))
    host.publishPolicy(buyer, ...policyOf('shop/store|8080'))
    host.publishPolicy(other, ...policyOf('shop/store|8080'))
    const { stream } = await connected(buyer)
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.2'))
    const response = await stream.next()
    stream.send({ responseNonce: response.nonce })
    const { first } = await connected(other)
    expect(addressesIn(first)).toEqual([['shop/store|8080', ['10.0.0.2']]])
  })

  it('misses no change that comes while a policy is taken in', async () => {
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1'))
    host.publishPolicy(buyer, ...policyOf('shop/store|8080'))
    const { stream } = await connected(buyer)
    const heard = new Map<string, string | undefined>()
    for (let delay = 0; delay < 40; delay += 1) {
      const [id, address] = [`shop/s${delay}|8080`, `10.0.1.${delay}`]
      host.setEndpoints(endpoints(id, '10.0.0.9'))
      host.publishPolicy(buyer, ...policyOf('shop/store|8080', id))
      // Each step of taking a policy in is a turn of the queue of microtasks.
      for (let turn = 0; turn < delay; turn += 1) await Promise.resolve()
      host.setEndpoints(endpoints(id, address))
      while (heard.get(id) !== address) {
        const response = await stream.next()
        for (const [name, [first]] of addressesIn(response)) heard.set(name, first)
        stream.send({ responseNonce: response.nonce })
      }
    }
    expect(heard.get('shop/s39|8080')).toBe('10.0.1.39')
  })

  it('tells a proxy of the newest ones when many changes come while it is busy', async () => {
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1'))
    host.publishPolicy(buyer, ...policyOf('shop/store|8080'))
    const { stream } = await connected(buyer)
    let last = 0
    for (let n = 2; n <= 20; n += 1) last = host.setEndpoints(endpoints('shop/store|8080', `10.0.0.${n}`))
    for (;;) {
      const response = await stream.next()
      stream.send({ responseNonce: response.nonce })
      if (addressesIn(response)[0]?.[1][0] === '10.0.0.20') break
    }
    await until(() => reportsOf(buyer).at(-1)?.endpoints === last)
    expect(stream.received.length).toBeLessThan(20)
  })

  it('reports endpoints that a proxy refuses, and those that take their place', async () => {
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.1'))
    host.publishPolicy(buyer, ...policyOf('shop/store|8080'))
    const { stream } = await connected(buyer)
    await until(() => reportsOf(buyer).at(-1)?.complete === true)
    host.setEndpoints(endpoints('shop/store|8080', '10.0.0.2'))
    const { nonce } = await stream.next()
    stream.send({ responseNonce: nonce, errorDetail: { code: 13, message: 'shop/store|8080: no such zone' } })
    await until(() => reportsOf(buyer).at(-1)?.complete === false)
    expect(reportsOf(buyer).at(-1)).toMatchObject({
      parts: [{ id: 'shop/store|8080', hash: hashPart(endpoints('shop/store|8080')), state: 'rejected' }],
    })
    expect(reportsOf(buyer).at(-1)).not.toHaveProperty('endpoints')
    const generation = host.setEndpoints(endpoints('shop/store|8080', '10.0.0.3'))
    const response = await stream.next()
    stream.send({ responseNonce: response.nonce })
    await until(() => reportsOf(buyer).at(-1)?.endpoints === generation)
    expect(reportsOf(buyer).at(-1)).toMatchObject({ complete: true, parts: [{ state: 'applied' }] })
  })
})
