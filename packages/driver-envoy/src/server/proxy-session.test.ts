import { randomUUID } from 'node:crypto'

import { beforeEach, describe, expect, it } from '@jest/globals'
import { type ProxyRef, validateApplyReport } from '@osm-ts/driver-api'
import {
  hashPart,
  type InboundPart,
  type Part,
  type PartHash,
  partRefs,
  type PolicyUpdate,
  type PrincipalsPart,
  type ProxyPart,
  type TrustPart,
} from '@osm-ts/driver-api/policy'
import { PartStore, WorkTally, WorkTurns } from '@osm-ts/driver-api/toolkit'
import { proxyPart } from '@osm-ts/driver-testkit'

import { EnvoyHost } from '../../test/xds/envoy-host.js'
import { setOf, textOf } from '../../test/xds/resources.js'
import { delta, drain, sotw } from '../../test/xds/streams.js'
import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import { PolicyFollower } from './policies/policy-follower.js'
import { type AnyRequest, deltaProtocol, type Protocol, stateOfTheWorldProtocol } from './state/protocols.js'
import { ProxySession } from './proxy-session.js'
import type { Push } from './state/push.js'
import type { ResourceTranslator } from './policies/translator-port.js'
import { rootCertificates } from './credentials/secrets.js'
import { XdsMetrics } from './xds-metrics.js'
import { pushOrder, typeUrls } from './xds-types.js'

const uuid = '6e8a0b0e-0000-4000-8000-000000000001'
const id = 'shop/store|80'
const callers = (...names: readonly string[]): PrincipalsPart =>
  ({ kind: 'principals', id: names.join(), match: 'names', principals: names }) as unknown as PrincipalsPart
const everyone = callers('client', 'thief')
const client = callers('client')
const inbound = (allow: PrincipalsPart): InboundPart =>
  ({
    kind: 'inbound',
    id,
    targetPort: 80,
    serverNames: ['store'],
    rules: { kind: 'http', hosts: ['store'], allow: [{ match: {}, allow: hashPart(allow) }], routeLimits: [] },
  }) as unknown as InboundPart
const trust = { kind: 'trust', id: 'trust', trustDomain: 'cluster.local', roots: ['r'] } as unknown as TrustPart
const mesh = { kind: 'mesh', id: 'mesh' } as unknown as Part

const byHash = new Map(
  [everyone, client, inbound(everyone), inbound(client), trust, mesh].map((part) => [hashPart(part), part]),
)

const callersName = 'callers|store'

/** One listener that says its epoch, one route that says its rules, and one secret that says its callers: as Envoy's, only legible. */
const translator: ResourceTranslator = {
  translate(proxy, _parts, revision, epochs) {
    const [binding] = proxy.inbound
    if (binding === undefined) throw new Error('this proxy serves nothing')
    const sources = [{ kind: 'inbound' as const, id: binding.id, hash: binding.part }]
    const one = (name: string, content: string) =>
      new LayeredResourceSet([new ResourceLayer([encodedResource(name, Buffer.from(content), sources)])])
    return {
      revision,
      types: {
        cluster: setOf({}),
        endpoints: setOf({}),
        listener: one('inbound', `epoch ${epochs?.get(binding.id) ?? 'none'}`),
        extension: setOf({}),
        route: one('rds-inbound.80', `rules ${binding.part}`),
      },
      endpoints: { current: setOf({}) },
      callers: [encodedResource(callersName, Buffer.from(`callers ${binding.part}`), sources)],
      credentials: [],
    }
  },
  renew: () => [],
  release() {
    // Nothing is remembered.
  },
}

/** A controller that has just started: it knows nothing of what proxies have. */
const NO_DRAIN = { ms: 0, now: () => 0 }

class Replica<Request extends AnyRequest> {
  readonly host = new EnvoyHost()
  readonly follower: PolicyFollower
  readonly session: ProxySession<Request>
  #revision = 0

  constructor(protocol: Protocol<Request>) {
    const context = this.host.context()
    const parts = new PartStore({ get: async (hash) => byHash.get(hash) ?? Promise.reject(new Error('unknown part')) })
    this.follower = new PolicyFollower({ parts, translator, turns: new WorkTurns(10) }, new WorkTally(), NO_DRAIN)
    const differ = new ResourceDiffer()
    this.session = new ProxySession({
      proxy: { uuid, identity: 'store.shop', session: 'session-1', commonName: 'cn' } as unknown as ProxyRef,
      protocol,
      scope: { types: pushOrder, wildcardTypes: ['cluster', 'listener'] },
      tag: 'test',
      follower: this.follower,
      diff: differ.diff.bind(differ),
      trace: (_, { sources }) => sources.map((part) => ({ part })),
      metrics: new XdsMetrics(context.metrics),
      logger: context.logger,
      now: () => 0,
      drainMs: 0,
      endpointsGeneration: () => 0,
    })
  }

  trust(certificate: string): void {
    this.session.setRoots(roots(certificate))
    this.session.setCertificate({ chain: randomUUID(), privateKey: 'key', expiry: '', serialNumber: '' })
  }

  async want(allow: PrincipalsPart): Promise<void> {
    await this.session.applyPolicy(this.update(allow))
  }

  update(allow: PrincipalsPart): PolicyUpdate {
    this.#revision += 1
    const proxy: ProxyPart = {
      ...proxyPart(uuid, 'envoy'),
      trust: hashPart(trust),
      mesh: hashPart(mesh),
      inbound: [{ id, part: hashPart(inbound(allow)), local: { address: '127.0.0.1', port: 80 } }],
    }
    const added = partRefs(proxy).map((hash) => ({ kind: 'mesh' as const, id: hash, hash }))
    return { revision: this.#revision, version: hashPart(proxy), proxy, added, removed: [] }
  }
}

const secretNames = ['service-cert', 'root-cert-for-mtls', callersName]
const roots = (certificate: string) => rootCertificates({ id: certificate, certificates: [certificate] })

interface Kept {
  listener: Push
  route: Push
  secret: Push
}

/** What a proxy is sent that requests its listener and its route, first by what it kept. */
const variants = [
  {
    name: 'delta',
    start: () => new Replica(deltaProtocol) as unknown as Replica<AnyRequest>,
    requests: (kept?: Kept) => {
      const versions = (push: Push | undefined) =>
        new Map((push?.resources ?? []).map(({ name, version }) => [name, version + (push?.label ?? '')]))
      return [
        delta('listener', { initialVersions: versions(kept?.listener) }),
        delta('route', { subscribe: ['rds-inbound.80'], initialVersions: versions(kept?.route) }),
        delta('secret', { subscribe: secretNames, initialVersions: versions(kept?.secret) }),
      ]
    },
  },
  {
    name: 'sotw',
    start: () => new Replica(stateOfTheWorldProtocol) as unknown as Replica<AnyRequest>,
    requests: (kept?: Kept) => [
      sotw('listener', { versionInfo: kept?.listener.version ?? '' }),
      sotw('route', { resourceNames: ['rds-inbound.80'], versionInfo: kept?.route.version ?? '' }),
      sotw('secret', { resourceNames: secretNames, versionInfo: kept?.secret.version ?? '' }),
    ],
  },
]

describe.each(variants)('a session over $name', ({ start, requests }) => {
  let kept: Kept
  let replica: Replica<AnyRequest>

  const acknowledge = (push: Push) => {
    const { nonce: responseNonce, version: versionInfo, type } = push
    const resourceNames = type === 'route' ? ['rds-inbound.80'] : type === 'secret' ? secretNames : []
    replica.session.receive({
      ...sotw(type, { responseNonce, versionInfo, resourceNames }),
      ...delta(type, { responseNonce }),
    })
  }
  const pushed = () => {
    const pushes: Push[] = []
    for (let more = drain(replica.session); more.length > 0; more = drain(replica.session)) {
      pushes.push(...more)
      more.forEach(acknowledge)
    }
    for (const push of pushes) {
      if (push.type === 'listener') kept = { ...kept, listener: push }
      if (push.type === 'route') kept = { ...kept, route: push }
      if (push.type === 'secret') kept = { ...kept, secret: push }
    }
    // Secrets are checked by themselves: every replica issues certificates of its own.
    return pushes
      .filter(({ type }) => type !== 'secret')
      .map(({ type, resources }) => `${type} ${resources.map(textOf).join()}`)
  }
  const connect = (before?: Kept) => {
    for (const request of requests(before)) replica.session.receive(request)
    return pushed()
  }

  beforeEach(async () => {
    replica = start()
    replica.trust('r1')
    await replica.want(everyone)
    connect()
    expect(kept.listener.resources.map(textOf)).toEqual(['epoch none'])
  })

  it('tells answers from first requests, and when it waits for an answer', async () => {
    const another = start()
    another.trust('r1')
    await another.want(everyone)
    for (const request of requests(undefined)) expect(another.session.receive(request)).toBe(false)
    expect(another.session.awaitsAnswer).toBe(false)
    const push = another.session.next()
    if (push === undefined) throw new Error('nothing is due')
    expect(another.session.awaitsAnswer).toBe(true)
    const { nonce: responseNonce, version: versionInfo, type } = push
    const answer = { ...sotw(type, { responseNonce, versionInfo }), ...delta(type, { responseNonce }) }
    expect(another.session.receive(answer)).toBe(true)
    expect(another.session.awaitsAnswer).toBe(false)
  })

  it('moves the epoch of a port with the update that withdraws access to it', async () => {
    await replica.want(client)
    expect(pushed()).toEqual([
      expect.stringMatching(/^listener epoch [\w-]{8}$/),
      `route rules ${hashPart(inbound(client))}`,
    ])
    await replica.want(everyone)
    expect(pushed()).toEqual([`route rules ${hashPart(inbound(everyone))}`])
  })

  it.each(['before', 'after'])(
    'sends nothing to a proxy that comes to another replica with its epochs, %s the policy',
    async (moment) => {
      await replica.want(client)
      pushed()
      replica = start()
      if (moment === 'before') expect(connect(kept)).toEqual([])
      replica.trust('r1')
      await replica.want(client)
      expect(moment === 'before' ? pushed() : connect(kept)).toEqual([])
      expect(replica.session.settled).toBe(true)
    },
  )

  it.each(['before', 'after'])(
    'drains what came in under rules that changed while the proxy was away, asked %s the policy',
    async (moment) => {
      replica = start()
      if (moment === 'before') connect(kept)
      await replica.want(client)
      const sent = moment === 'before' ? pushed() : connect(kept)
      expect(sent).toContainEqual(expect.stringMatching(/^listener epoch [\w-]{8}$/))
      expect(sent).toContainEqual(`route rules ${hashPart(inbound(client))}`)
      expect(replica.host.logs.map(({ message }) => message)).toContain(
        'rules changed while the proxy was away, its connections are drained',
      )
    },
  )

  it.each(['before', 'after'])(
    'drains everything when the roots changed while the proxy was away, asked %s they are known',
    async (moment) => {
      replica = start()
      await replica.want(everyone)
      if (moment === 'after') replica.trust('r2')
      const sent = connect(kept)
      if (moment === 'before') replica.trust('r2')
      expect([...sent, ...pushed()]).toEqual([expect.stringMatching(/^listener epoch [\w-]{8}$/)])
      expect(kept.secret.resources.map(({ version }) => version)).toContain(roots('r2').version)
      // Later changes are seen as they happen, by the policy.
      replica.trust('r3')
      expect(pushed()).toEqual([])
    },
  )

  it('tells who may call before it drains', async () => {
    await replica.want(client)
    const order = []
    for (let more = drain(replica.session); more.length > 0; more = drain(replica.session)) {
      order.push(...more.map(({ type }) => type))
      more.forEach(acknowledge)
    }
    expect(order).toEqual(['secret', 'listener', 'route'])
  })

  it('drains ports whose callers changed while the proxy was away, where it has no routes', async () => {
    replica = start()
    replica.trust('r1')
    await replica.want(client)
    for (const request of requests(kept)) if (request.typeUrl !== typeUrls.route) replica.session.receive(request)
    expect(pushed()).toEqual([expect.stringMatching(/^listener epoch [\w-]{8}$/)])
    expect(kept.secret.resources.map(textOf)).toContain(`callers ${hashPart(inbound(client))}`)
  })

  it('does not drain anything for a proxy that starts', async () => {
    replica = start()
    replica.trust('r2')
    await replica.want(client)
    expect(connect()).toEqual(['listener epoch none', `route rules ${hashPart(inbound(client))}`])
  })

  it('reports in the form that the host asks for', async () => {
    const reports = [replica.session.report()]
    await replica.want(client)
    reports.push(replica.session.report())
    drain(replica.session).forEach(acknowledge)
    const [first] = drain(replica.session)
    if (first === undefined) throw new Error('nothing was sent')
    const errorDetail = { code: 13, message: 'Error adding/updating listener(s) inbound: no good' }
    const { type, nonce: responseNonce } = first
    replica.session.receive({
      ...sotw(type, { responseNonce, errorDetail }),
      ...delta(type, { responseNonce, errorDetail }),
    })
    reports.push(replica.session.report())
    for (const report of reports) expect(validateApplyReport(report)).toEqual([])
    expect(reports.at(-1)?.parts.map(({ state }) => state)).toContain('rejected')
  })
})

describe('a policy follower', () => {
  it('stays as it was when a policy cannot be followed', async () => {
    const replica = new Replica(deltaProtocol)
    await replica.follower.apply(replica.update(everyone))
    const { resources, epochs } = replica.follower
    const unknown = replica.update(client)
    const broken = { ...unknown, proxy: { ...unknown.proxy, mesh: 'unknown' as PartHash } }
    await expect(replica.follower.apply(broken)).rejects.toThrow('unknown part')
    const nothing = { ...unknown, proxy: { ...unknown.proxy, inbound: [] } }
    await expect(replica.follower.apply(nothing)).rejects.toThrow('this proxy serves nothing')
    expect(replica.follower.resources).toBe(resources)
    expect(replica.follower.epochs).toBe(epochs)
    await replica.follower.apply(replica.update(client))
    expect(replica.follower.epochs.size).toBe(1)
  })

  it('gives up everything when it closes, in the middle of a policy too', async () => {
    const parts = new PartStore({ get: async (hash) => byHash.get(hash) ?? Promise.reject(new Error('unknown part')) })
    const released: unknown[] = []
    const ports = {
      parts,
      translator: { ...translator, release: (proxyId: string) => void released.push(proxyId) },
      turns: new WorkTurns(10),
    }
    const follower = new PolicyFollower(ports, new WorkTally(), NO_DRAIN)
    const { update } = { update: (allow: PrincipalsPart) => new Replica(deltaProtocol).update(allow) }
    await follower.apply(update(everyone))
    expect(parts.size).toBe(4)
    const running = follower.apply(update(client))
    follower.close()
    await running
    expect(parts.size).toBe(0)
    expect(released).toEqual([uuid, uuid])
  })
})
