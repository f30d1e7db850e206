import { describe, expect, it } from '@jest/globals'
import type { ProxyRef } from '@osm-ts/driver-api'
import {
  hashPart,
  type InboundPart,
  type Part,
  type PartRef,
  type ProxyPart,
  refOf,
  type TrustPart,
} from '@osm-ts/driver-api/policy'
import { PartStore, WorkTally, WorkTurns } from '@osm-ts/driver-api/toolkit'
import { proxyPart } from '@osm-ts/driver-testkit'

import { EnvoyHost } from '../../test/xds/envoy-host.js'
import { resource, resourcesOf, setOf, type State } from '../../test/xds/resources.js'
import { delta, deltaState, drain, inWords, sotw, stateOfTheWorld } from '../../test/xds/streams.js'
import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import { PolicyFollower } from './policies/policy-follower.js'
import { type AnyRequest, deltaProtocol, type Protocol, stateOfTheWorldProtocol } from './state/protocols.js'
import { ProxySession } from './proxy-session.js'
import type { Push, StreamState } from './state/push.js'
import type { ResourceTranslator } from './policies/translator-port.js'
import { XdsMetrics } from './xds-metrics.js'
import { pushOrder, type XdsType } from './xds-types.js'

/** What a proxy says, in either variant. */
interface Words {
  readonly names?: readonly string[]
  readonly gone?: readonly string[]
  readonly nonce?: string
  readonly version?: string
  /** Versions that it has, by name. */
  readonly held?: ReadonlyMap<string, string>
  readonly refusal?: string
}

const errorOf = (refusal: string | undefined) =>
  refusal === undefined ? {} : { errorDetail: { code: 13, message: refusal } }

const variants = {
  delta: {
    state: () => deltaState() as StreamState<never>,
    protocol: deltaProtocol as unknown as Protocol<AnyRequest>,
    request: (type: XdsType, before: readonly string[], { names = before, nonce = '', held, refusal }: Words) =>
      delta(type, {
        subscribe: names.filter((name) => !before.includes(name)),
        unsubscribe: before.filter((name) => !names.includes(name)),
        responseNonce: nonce,
        ...(held !== undefined && { initialVersions: held }),
        ...errorOf(refusal),
      }),
  },
  sotw: {
    state: () => stateOfTheWorld() as StreamState<never>,
    protocol: stateOfTheWorldProtocol as unknown as Protocol<AnyRequest>,
    request: (type: XdsType, before: readonly string[], { names = before, nonce = '', version = '', refusal }: Words) =>
      sotw(type, { resourceNames: names, responseNonce: nonce, versionInfo: version, ...errorOf(refusal) }),
  },
} as const

/** A proxy that answers by hand. */
class Answers {
  readonly #request: (typeUrl: XdsType, before: readonly string[], words: Words) => AnyRequest
  readonly #take: (request: AnyRequest) => void
  readonly #next: () => readonly Push[]
  readonly #names = new Map<XdsType, readonly string[]>()
  readonly #last = new Map<XdsType, Push>()

  constructor(
    variant: keyof typeof variants,
    stream: { next(): Push | undefined },
    take: (request: AnyRequest) => void,
  ) {
    this.#request = variants[variant].request
    this.#take = take
    this.#next = () => drain(stream)
  }

  say(type: XdsType, words: Words = {}): readonly string[] {
    this.#take(this.#request(type, this.#names.get(type) ?? [], words))
    if (words.names !== undefined) this.#names.set(type, words.names)
    return this.pushed()
  }

  ask(type: XdsType, names: readonly string[] = []): readonly string[] {
    const { nonce = '', version = '' } = this.#last.get(type) ?? {}
    return this.say(type, { names, nonce, version })
  }

  ack(type: XdsType): readonly string[] {
    return this.ask(type, this.#names.get(type) ?? [])
  }

  nack(type: XdsType, refusal: string): readonly string[] {
    return this.say(type, { nonce: this.#last.get(type)?.nonce ?? '', refusal })
  }

  version(type: XdsType): string {
    return this.#last.get(type)?.version ?? ''
  }

  pushed(): readonly string[] {
    const pushes = this.#next()
    for (const push of pushes) this.#last.set(push.type, push)
    return pushes.map(inWords)
  }
}

const start: State = {
  cluster: { c: '1' },
  endpoints: { c: '1' },
  listener: { l: '1' },
  extension: { 'x-1': '1' },
  route: { own: '1', shared: '1' },
}
/** The settings of the manager are others: another name. */
const changed: State = { ...start, listener: { l: '2' }, extension: { 'x-2': '2' } }

describe.each(['delta', 'sotw'] as const)('extensions of a listener in the %s variant', (variant) => {
  function stream(first: State = start) {
    const state = variants[variant].state()
    const proxy = new Answers(variant, state, (request) => state.request(request as never))
    const update = (next: State): readonly string[] => {
      state.update(resourcesOf(next), {})
      return proxy.pushed()
    }
    update(first)
    return { state, proxy, update }
  }

  function clustersArrive(proxy: ReturnType<typeof stream>['proxy']): void {
    proxy.ask('cluster')
    proxy.ask('endpoints', ['c'])
    proxy.ack('cluster')
    proxy.ack('endpoints')
  }

  /** As Envoy does: what a resource names is requested before the resource is acknowledged. */
  function running() {
    const made = stream()
    const { proxy } = made
    clustersArrive(proxy)
    proxy.ask('listener')
    proxy.ask('extension', ['x-1'])
    proxy.ask('route', ['own'])
    proxy.ack('listener')
    proxy.ask('route', ['own', 'shared'])
    proxy.ack('extension')
    proxy.ack('route')
    proxy.ack('route')
    expect(made.state.settled).toBe(true)
    return made
  }

  it('are sent when they are requested by name', () => {
    const { proxy } = stream()
    expect(proxy.ask('listener')).toEqual(['listener l=1'])
    expect(proxy.ask('extension', ['x-1'])).toEqual(['extension x-1=1'])
    expect(proxy.ack('extension')).toEqual([])
  })

  it('leave a proxy unsettled until they and the routes that they name are acknowledged', () => {
    const { state, proxy } = stream()
    const unapplied = () => [...state.unapplied()].map((entry) => entry.resource.name).sort()
    clustersArrive(proxy)
    proxy.ask('listener')
    proxy.ask('extension', ['x-1'])
    proxy.ask('route', ['own'])
    proxy.ack('route')
    proxy.ack('listener')
    // The proxy does not know of the shared routes yet.
    expect(unapplied()).toEqual(['shared', 'x-1'])
    expect(state.settled).toBe(false)
    expect(proxy.ask('route', ['own', 'shared'])).toEqual(['route shared=1'])
    proxy.ack('extension')
    expect(unapplied()).toEqual(['shared'])
    expect(state.settled).toBe(false)
    proxy.ack('route')
    expect(unapplied()).toEqual([])
    expect(state.settled).toBe(true)
  })

  it('count before the first request for routes, too', () => {
    const { state, proxy } = stream()
    clustersArrive(proxy)
    proxy.ask('listener')
    proxy.ask('extension', ['x-1'])
    proxy.ack('listener')
    expect(state.settled).toBe(false)
    expect([...state.unapplied()].map((entry) => entry.resource.name).sort()).toEqual(['own', 'shared', 'x-1'])
  })

  it('are nothing to wait for where no listener has any', () => {
    const { state, proxy } = stream({ listener: { l: '1' }, extension: { 'x-1': '1' }, route: { own: '1' } })
    proxy.ask('cluster')
    proxy.ack('cluster')
    proxy.ask('listener')
    proxy.ack('listener')
    expect(state.settled).toBe(true)
  })

  it('are replaced with their listener, and never named as gone', () => {
    const { state, proxy, update } = running()
    expect(update(changed)).toEqual(['listener l=2'])
    expect(proxy.ask('extension', ['x-1', 'x-2'])).toEqual(['extension x-2=2'])
    // Chains with the previous one are in use until the listener has warmed, and drain afterwards.
    expect(proxy.ack('listener')).toEqual([])
    expect(proxy.ack('extension')).toEqual([])
    expect(state.settled).toBe(true)
    expect(proxy.ask('extension', ['x-2'])).toEqual([])
    expect(state.settled).toBe(true)
  })

  it('keep the clusters that a listener in force may still send to', () => {
    const { proxy, update } = running()
    expect(update({ ...changed, cluster: {}, endpoints: {} })).toEqual(['listener l=2'])
    proxy.ask('extension', ['x-1', 'x-2'])
    expect(proxy.ack('listener')).toEqual([])
    expect(proxy.ack('extension')).toEqual([variant === 'delta' ? 'cluster -c' : 'cluster'])
  })

  it('are not sent again for a change of the listener, nor to a proxy that reconnects', () => {
    const { proxy, update } = running()
    expect(update({ ...start, listener: { l: '2' } })).toEqual(['listener l=2'])
    proxy.ack('listener')
    const { proxy: back } = stream()
    const held = new Map([['x-1', resource('x-1', '1').version]])
    expect(back.say('extension', { names: ['x-1'], held, version: proxy.version('extension') })).toEqual([])
  })

  it('stay with a proxy that reconnects with the previous listener', () => {
    const { proxy } = running()
    const { proxy: back } = stream(changed)
    const held = new Map([['x-1', resource('x-1', '1').version]])
    const words = back.say('extension', { names: ['x-1'], held, version: proxy.version('extension') })
    // In the state-of-the-world variant an answer without it leaves it as it is.
    expect(words).toEqual(variant === 'delta' ? [] : ['extension'])
  })

  it('are found by halves when one is refused without a name, and keep what waits for them unapplied', () => {
    const { state, proxy, update } = running()
    update({ ...changed, extension: { 'x-2': '2', 'x-3': 'bad' } })
    expect(proxy.ask('extension', ['x-1', 'x-2', 'x-3'])).toEqual(['extension x-2=2 x-3=bad'])
    proxy.ack('listener')
    expect(proxy.nack('extension', 'no good')).toEqual(['extension x-2=2'])
    expect(proxy.ack('extension')).toEqual(['extension x-3=bad'])
    expect(proxy.nack('extension', 'no good')).toEqual([])
    expect([...state.unapplied()].map((entry) => [entry.resource.name, entry.message])).toEqual([['x-3', 'no good']])
    expect(state.settled).toBe(false)
    expect(update({ ...start, listener: { l: '3' } })).toEqual(['listener l=3'])
    proxy.ack('listener')
    proxy.ask('extension', ['x-1'])
    expect(state.settled).toBe(true)
  })
})

const trust = { kind: 'trust', id: 'trust', trustDomain: 'cluster.local', roots: ['r'] } as unknown as TrustPart
const mesh = { kind: 'mesh', id: 'mesh' } as unknown as Part
const inbound = (id: string): InboundPart =>
  ({
    kind: 'inbound',
    id,
    targetPort: 80,
    serverNames: [],
    rules: { kind: 'http', hosts: [], allow: [], routeLimits: [] },
  }) as unknown as InboundPart
const ports = ['a', 'b'].map(inbound)
const byHash = new Map([trust, mesh, ...ports].map((part) => [hashPart(part), part]))
const meshRef = refOf(mesh, hashPart(mesh))
const refOfPort = (part: InboundPart): PartRef => refOf(part, hashPart(part))

/** One listener of all ports, and an extension with a route for each: as Envoy's, only legible. */
const translator: ResourceTranslator = {
  translate(proxy, _parts, revision) {
    const refs = proxy.inbound.map(({ id, part }) => ({ kind: 'inbound' as const, id, hash: part }))
    const set = (resources: Parameters<typeof encodedResource>[]) =>
      new LayeredResourceSet([new ResourceLayer(resources.map((each) => encodedResource(...each)))])
    return {
      revision,
      types: {
        cluster: setOf({}),
        endpoints: setOf({}),
        listener: set([['l', Buffer.from(refs.map(({ id }) => id).join()), refs]]),
        extension: set(refs.map(({ id }) => [`x-${id}`, Buffer.from(id), [meshRef]])),
        route: set(refs.map((ref) => [`r-${ref.id}`, Buffer.from(ref.id), [ref]])),
      },
      endpoints: { current: setOf({}) },
      callers: [],
      credentials: [],
    }
  },
  renew: () => [],
  release() {
    // Nothing is remembered.
  },
}

describe.each(['delta', 'sotw'] as const)('the report of a session with extensions in the %s variant', (variant) => {
  function connected() {
    const context = new EnvoyHost().context()
    const parts = new PartStore({ get: async (hash) => byHash.get(hash) ?? Promise.reject(new Error('unknown part')) })
    const time = { ms: 0, now: () => 0 }
    const differ = new ResourceDiffer()
    const session = new ProxySession({
      proxy: { uuid: 'u', identity: 'a.shop', session: 's', commonName: 'cn' } as unknown as ProxyRef,
      protocol: variants[variant].protocol,
      scope: { types: pushOrder, wildcardTypes: ['cluster', 'listener'] },
      tag: 'test',
      follower: new PolicyFollower({ parts, translator, turns: new WorkTurns(10) }, new WorkTally(), time),
      diff: differ.diff.bind(differ),
      trace: (_, { sources }) => sources.map((part) => ({ part })),
      metrics: new XdsMetrics(context.metrics),
      logger: context.logger,
      now: () => 0,
      drainMs: 0,
      endpointsGeneration: () => 0,
    })
    const proxy = new Answers(variant, session, (request) => session.receive(request))
    let revision = 0
    const want = async (served: readonly InboundPart[], added: readonly PartRef[]) => {
      revision += 1
      const part: ProxyPart = {
        ...proxyPart('6e8a0b0e-0000-4000-8000-000000000001', 'envoy'),
        trust: hashPart(trust),
        mesh: hashPart(mesh),
        inbound: served.map((each) => ({
          id: each.id,
          part: hashPart(each),
          local: { address: '127.0.0.1', port: 80 },
        })),
      }
      await session.applyPolicy({ revision, version: hashPart(part), proxy: part, added, removed: [] })
      proxy.pushed()
    }
    const reported = () => {
      const report = session.report()
      return (
        report && { complete: report.complete, parts: report.parts.map(({ id, state }) => `${id} ${state}`).sort() }
      )
    }
    return { proxy, want, reported }
  }

  async function serving() {
    const [a] = ports
    if (a === undefined) throw new Error('no port')
    const made = connected()
    const { proxy, want, reported } = made
    await want([a], [meshRef, refOfPort(a)])
    proxy.ask('cluster')
    proxy.ack('cluster')
    proxy.ask('listener')
    proxy.ask('extension', ['x-a'])
    proxy.ack('listener')
    expect(reported()).toBeUndefined()
    proxy.ask('route', ['r-a'])
    proxy.ack('extension')
    expect(reported()).toEqual({ complete: false, parts: ['mesh applied'] })
    proxy.ack('route')
    expect(reported()).toEqual({ complete: true, parts: ['a applied'] })
    return made
  }

  it('says that a part is applied when the routes of its extension are', async () => {
    const { proxy, want, reported } = await serving()
    await want(ports, ports.slice(1).map(refOfPort))
    proxy.ask('extension', ['x-a', 'x-b'])
    proxy.ack('listener')
    // The host takes it for unknown still.
    expect(reported()).toBeUndefined()
    proxy.ask('route', ['r-a', 'r-b'])
    proxy.ack('extension')
    expect(reported()).toBeUndefined()
    proxy.ack('route')
    expect(reported()).toEqual({ complete: true, parts: ['b applied'] })
  })

  it('attributes a refusal to the parts of the extension, which may have come with an earlier step', async () => {
    const { proxy, want, reported } = await serving()
    await want(ports, ports.slice(1).map(refOfPort))
    proxy.ask('extension', ['x-a', 'x-b'])
    proxy.ack('listener')
    proxy.nack('extension', 'no good')
    expect(reported()).toEqual({ complete: false, parts: ['mesh rejected'] })
  })
})
