import { describe, expect, it } from '@jest/globals'

import type { State } from '../../../test/xds/resources.js'
import { resource, resourcesOf, setOf } from '../../../test/xds/resources.js'
import { delta, deltaState, drain, inWords } from '../../../test/xds/streams.js'
import type { DeltaState } from './delta-state.js'
import type { Push } from './push.js'
import type { XdsType } from '../xds-types.js'

/** A stream as a proxy would drive it, in words. */
class Stream {
  readonly state: DeltaState
  readonly #last = new Map<XdsType, Push>()

  constructor(state?: State, make = deltaState()) {
    this.state = make
    if (state !== undefined) this.update(state)
  }

  update(state: State, label = ''): readonly string[] {
    this.state.update(resourcesOf(state), { listener: label })
    return this.pushed()
  }

  ask(type: XdsType, fields: Parameters<typeof delta>[1] = {}): readonly string[] {
    this.state.request(delta(type, fields))
    return this.pushed()
  }

  ack(type: XdsType, fields: Parameters<typeof delta>[1] = {}): readonly string[] {
    return this.ask(type, { responseNonce: this.#nonce(type), ...fields })
  }

  nack(type: XdsType, message: string, fields: Parameters<typeof delta>[1] = {}): readonly string[] {
    return this.ask(type, { responseNonce: this.#nonce(type), errorDetail: { code: 13, message }, ...fields })
  }

  pushed(): readonly string[] {
    return drain(this.state).map((push) => {
      this.#last.set(push.type, push)
      return inWords(push)
    })
  }

  last(type: XdsType): Push {
    const push = this.#last.get(type)
    if (push === undefined) throw new Error(`nothing of type ${type} was pushed`)
    return push
  }

  /** Acknowledges until nothing more comes. */
  settle(): readonly string[] {
    const seen: string[] = []
    for (;;) {
      const before = seen.length
      for (const [type] of [...this.#last]) {
        seen.push(...this.ack(type))
      }
      if (seen.length === before) return seen
    }
  }

  #nonce(type: XdsType): string {
    return this.#last.get(type)?.nonce ?? ''
  }
}

const versions = (contents: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(contents).map(([name, content]) => [name, resource(name, content).version]))

describe('subscriptions of the delta variant', () => {
  it('answers a first request without names with everything', () => {
    expect(new Stream({ cluster: { a: '1', b: '1' } }).ask('cluster')).toEqual(['cluster a=1 b=1'])
  })

  it('answers the explicit wildcard with everything', () => {
    expect(new Stream({ listener: { a: '1' } }).ask('listener', { subscribe: ['*'] })).toEqual(['listener a=1'])
  })

  it('answers a first wildcard with an empty response where there is nothing, once', () => {
    const stream = new Stream({})
    expect(stream.ask('cluster')).toEqual(['cluster'])
    expect(stream.ack('cluster')).toEqual([])
  })

  it('answers only names that were requested', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    expect(stream.ask('endpoints', { subscribe: ['b'] })).toEqual(['endpoints b=1'])
  })

  it('sends nothing for a type of names when none is given', () => {
    expect(new Stream({ endpoints: { a: '1' } }).ask('endpoints')).toEqual([])
  })

  it('keeps the wildcard when a name is added to it', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1' } })
    stream.ask('cluster')
    expect(stream.ack('cluster', { subscribe: ['a'] })).toEqual(['cluster a=1'])
    stream.ack('cluster')
    expect(stream.update({ cluster: { a: '1', b: '2' } })).toEqual(['cluster b=2'])
  })

  it('keeps a named resource when the wildcard goes', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1' } })
    stream.ask('cluster')
    stream.ack('cluster', { subscribe: ['a'] })
    stream.ack('cluster', { unsubscribe: ['*'] })
    expect(stream.update({ cluster: { a: '2', b: '2' } })).toEqual(['cluster a=2'])
  })

  it('does not take an empty list for the wildcard once a name was requested', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1' } })
    stream.ask('cluster', { subscribe: ['a'] })
    stream.ack('cluster', { unsubscribe: ['a'] })
    expect(stream.ask('cluster')).toEqual([])
    expect(stream.update({ cluster: { a: '2', b: '2' } })).toEqual([])
  })

  it('tells whether a name that is given up is still covered by the wildcard', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster', { subscribe: ['*', 'a', 'gone'] })
    expect(stream.ack('cluster', { unsubscribe: ['a', 'gone'] })).toEqual(['cluster -gone a=1'])
  })

  it('ignores a name that is given up without having been asked for', () => {
    const stream = new Stream({ endpoints: { a: '1' } })
    stream.ask('endpoints', { subscribe: ['a'] })
    expect(stream.ack('endpoints', { unsubscribe: ['never'] })).toEqual([])
  })

  it('always answers a repeated request for a name', () => {
    const stream = new Stream({ endpoints: { a: '1' } })
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ack('endpoints')
    expect(stream.ask('endpoints', { subscribe: ['a'] })).toEqual(['endpoints a=1'])
  })

  it('answers a name again that is requested again while it is on its way', () => {
    const stream = new Stream({ endpoints: { a: '1' } })
    stream.ask('endpoints', { subscribe: ['a'] })
    expect(stream.ask('endpoints', { subscribe: ['a'] })).toEqual([])
    expect(stream.ack('endpoints')).toEqual(['endpoints a=1'])
    expect(stream.ack('endpoints')).toEqual([])
  })

  it('names what does not exist as removed', () => {
    expect(new Stream({}).ask('endpoints', { subscribe: ['x'] })).toEqual(['endpoints -x'])
    expect(new Stream({}).ask('cluster', { subscribe: ['x'] })).toEqual(['cluster -x'])
  })

  it('sends what did not exist when it comes into being', () => {
    const stream = new Stream({})
    stream.ask('endpoints', { subscribe: ['x'] })
    stream.ack('endpoints')
    expect(stream.update({ endpoints: { x: '1' } })).toEqual(['endpoints x=1'])
  })

  it('answers routes that do not exist with an empty configuration, for Envoy ignores their removal', () => {
    const stream = new Stream({})
    stream.ask('route', { subscribe: ['rds-inbound.80'] })
    const [stub] = stream.last('route').resources
    expect(stub?.name).toBe('rds-inbound.80')
    expect(stream.last('route').removed).toEqual([])
    stream.ack('route')
    expect(stream.update({ route: { 'rds-inbound.80': '1' } })).toEqual(['route rds-inbound.80=1'])
  })

  it('ignores types that it does not serve', () => {
    const { state } = new Stream({ cluster: { a: '1' } })
    const strange = { ...delta('cluster'), typeUrl: 'type.googleapis.com/envoy.service.runtime.v3.Runtime' }
    expect(state.request(strange)).toBeUndefined()
    expect(state.request({ ...delta('cluster'), typeUrl: '' })).toBeUndefined()
    expect(state.next()).toBeUndefined()
  })

  it('answers a request that came before the first policy as soon as there is one', () => {
    const stream = new Stream()
    expect(stream.ask('cluster')).toEqual([])
    expect(stream.ask('endpoints', { subscribe: ['a'] })).toEqual([])
    expect(stream.update({ cluster: { a: '1' }, endpoints: { a: '1' } })).toEqual(['cluster a=1', 'endpoints a=1'])
  })
})

describe('versions and nonces of the delta variant', () => {
  it('gives every response of a stream another nonce', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster')
    const first = stream.last('cluster').nonce
    stream.ack('cluster')
    stream.update({ cluster: { a: '2' } })
    expect(stream.last('cluster').nonce).not.toBe(first)
  })

  it('honours a change of the subscription that comes with a stale nonce', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ack('endpoints')
    expect(stream.ask('endpoints', { subscribe: ['b'], responseNonce: 'of-another-time' })).toEqual(['endpoints b=1'])
  })

  it('does not take a stale nonce for an acknowledgement', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster')
    stream.ask('cluster', { responseNonce: 'of-another-time' })
    expect(stream.update({ cluster: { a: '2' } })).toEqual([])
    expect(stream.ack('cluster')).toEqual(['cluster a=2'])
  })

  it('sends nothing to a proxy that reconnects with everything', () => {
    const stream = new Stream({ cluster: { a: '1' }, endpoints: { a: '1' } })
    expect(stream.ask('cluster', { initialVersions: versions({ a: '1' }) })).toEqual([])
    expect(stream.ask('endpoints', { subscribe: ['a'], initialVersions: versions({ a: '1' }) })).toEqual([])
    expect(stream.state.settled).toBe(true)
  })

  it('sends a proxy that reconnects what changed meanwhile, and names what is gone', () => {
    const stream = new Stream({ cluster: { a: '1', b: '2', d: '1' } })
    expect(stream.ask('cluster', { initialVersions: versions({ a: '1', b: '1', c: '1' }) })).toEqual([
      'cluster -c b=2 d=1',
    ])
  })

  it('ignores what is written behind the hash of a version', () => {
    const stream = new Stream({ listener: { a: '1' } })
    const held = new Map([['a', `${resource('a', '1').version}~abcdefgh.epoch`]])
    expect(stream.ask('listener', { initialVersions: held })).toEqual([])
  })

  it('leaves a proxy that reconnects alone with routes that it knows not to exist', () => {
    const before = new Stream({})
    before.ask('route', { subscribe: ['r'] })
    const [stub] = before.last('route').resources
    const after = new Stream({})
    expect(after.ask('route', { subscribe: ['r'], initialVersions: new Map([['r', stub?.version ?? '']]) })).toEqual([])
  })

  it('sends nothing when nothing changed', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster')
    stream.ack('cluster')
    expect(stream.update({ cluster: { a: '1' } })).toEqual([])
  })

  it('sends only what changed, and names what is gone', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1', c: '1' } })
    stream.ask('cluster')
    stream.ack('cluster')
    expect(stream.update({ cluster: { a: '1', b: '2' } })).toEqual(['cluster -c b=2'])
  })

  it('has one response of a type in flight and sends the newest state after it', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1' } })
    stream.ask('cluster')
    expect(stream.update({ cluster: { a: '2', b: '1' } })).toEqual([])
    expect(stream.update({ cluster: { a: '3', b: '1' } })).toEqual([])
    expect(stream.ack('cluster')).toEqual(['cluster a=3'])
  })

  it('sends nothing for a change that was taken back before it went out', () => {
    const stream = new Stream({ cluster: { a: '1' }, listener: { l: '1' } })
    stream.ask('cluster')
    stream.ask('listener')
    stream.settle()
    stream.update({ cluster: { a: '2' }, listener: { l: '2' } })
    stream.update({ cluster: { a: '2' }, listener: { l: '1' } })
    expect(stream.settle()).toEqual([])
  })
})

describe('order of the delta variant', () => {
  const before: State = {
    cluster: { a: '1' },
    endpoints: { a: '1' },
    listener: { l: '1' },
    route: { r: '1' },
  }
  const running = () => {
    const stream = new Stream(before)
    stream.ask('cluster')
    stream.ack('cluster')
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ask('listener')
    stream.ask('route', { subscribe: ['r'] })
    stream.settle()
    return stream
  }

  it('sends clusters, their endpoints, listeners and routes in that order, and what is gone last', () => {
    const stream = running()
    const after = { cluster: { b: '1' }, endpoints: { b: '1' }, listener: { l: '2' }, route: { r: '2' } }
    expect(stream.update(after)).toEqual(['cluster b=1'])
    // Envoy requests the endpoints of a new cluster before it acknowledges the cluster.
    expect(stream.ask('endpoints', { subscribe: ['b'] })).toEqual(['endpoints b=1'])
    expect(stream.ack('cluster')).toEqual([])
    expect(stream.ack('endpoints')).toEqual(['listener l=2', 'route r=2'])
    expect(stream.ack('listener')).toEqual([])
    expect(stream.ack('route')).toEqual(['cluster -a'])
    // The endpoints went with the cluster: the proxy gives them up before it is told.
    expect(stream.ask('endpoints', { unsubscribe: ['a'] })).toEqual([])
    expect(stream.ack('cluster')).toEqual([])
    expect(stream.state.settled).toBe(true)
  })

  it('sends routes that lead before the listeners that begin to use what is new in them', () => {
    const stream = new Stream({ ...before, route: { r: '1', leading: '1' } })
    stream.ask('cluster')
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ask('listener')
    stream.ask('route', { subscribe: ['r', 'leading'] })
    stream.settle()
    const after = { ...before, cluster: { a: '2' }, listener: { l: '2' }, route: { r: '2', leading: '2' } }
    expect(stream.update(after)).toEqual(['cluster a=2', 'endpoints a=1'])
    expect(stream.ack('cluster')).toEqual([])
    expect(stream.ack('endpoints')).toEqual(['route leading=2', 'listener l=2'])
    expect(stream.ack('listener')).toEqual([])
    expect(stream.ack('route')).toEqual(['route r=2'])
    stream.ack('route')
    // What was refused holds back nothing.
    expect(stream.update({ ...after, listener: { l: '3' }, route: { r: '2', leading: '3' } })).toEqual([
      'route leading=3',
      'listener l=3',
    ])
    expect(stream.nack('route', 'no good')).toEqual([])
    stream.ack('listener')
    expect(stream.update({ ...after, listener: { l: '4' }, route: { r: '2', leading: '3' } })).toEqual(['listener l=4'])
  })

  it('sends listeners first where the proxy does not have the routes that lead', () => {
    const stream = running()
    expect(stream.update({ ...before, listener: { l: '2' }, route: { r: '1', leading: '1' } })).toEqual([
      'listener l=2',
    ])
    expect(stream.ask('route', { subscribe: ['leading'] })).toEqual(['route leading=1'])
  })

  it('keeps a cluster that is gone for as long as connections drain, unless it is there again', () => {
    let time = 0
    const stream = new Stream(before, deltaState({ drain: { ms: 10_000, now: () => time } }))
    stream.ask('cluster')
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ask('listener')
    stream.ask('route', { subscribe: ['r'] })
    stream.settle()
    const without = { listener: { l: '2' }, route: { r: '1' } }
    expect(stream.update(without)).toEqual(['listener l=2'])
    expect(stream.ack('listener')).toEqual([])
    expect(stream.state.nextInMs).toBe(10_000)
    expect(stream.state.settled).toBe(true)
    time = 6_000
    expect(stream.update({ ...before, listener: { l: '3' } })).toEqual(['listener l=3'])
    expect(stream.ack('listener')).toEqual([])
    expect(stream.state.nextInMs).toBeUndefined()
    expect(stream.update(without)).toEqual(['listener l=2'])
    expect(stream.ack('listener')).toEqual([])
    time = 15_999
    expect(stream.pushed()).toEqual([])
    time = 16_000
    expect(stream.pushed()).toEqual(['cluster -a'])
    expect(stream.state.nextInMs).toBeUndefined()
  })

  it('waits for no time once the drain is over and a refused listener keeps the cluster', () => {
    let time = 0
    const stream = new Stream(before, deltaState({ drain: { ms: 10_000, now: () => time } }))
    stream.ask('cluster')
    stream.ask('endpoints', { subscribe: ['a'] })
    stream.ask('listener')
    stream.ask('route', { subscribe: ['r'] })
    stream.settle()
    stream.update({ listener: { l: '2' }, route: { r: '1' } })
    stream.ack('listener')
    expect(stream.state.nextInMs).toBe(10_000)
    stream.update({ listener: { l: '3' }, route: { r: '1' } })
    stream.nack('listener', 'no good')
    time = 10_000
    expect(stream.pushed()).toEqual([])
    expect(stream.state.nextInMs).toBeUndefined()
  })

  it('sends the endpoints of a changed cluster again although they did not change', () => {
    expect(running().update({ ...before, cluster: { a: '2' } })).toEqual(['cluster a=2', 'endpoints a=1'])
  })

  it('sends them even if the cluster changed before the proxy had requested endpoints on this stream', () => {
    const stream = new Stream(before)
    stream.ask('cluster', { initialVersions: versions({ a: '0' }) })
    expect(stream.ask('endpoints', { subscribe: ['a'], initialVersions: versions({ a: '1' }) })).toEqual([
      'endpoints a=1',
    ])
  })

  it('does not send endpoints ahead of the change of their cluster', () => {
    const stream = running()
    stream.update({ ...before, cluster: { a: '2' } })
    stream.ack('endpoints')
    // The next change of the cluster has to wait for the acknowledgement of the one before, and so have the endpoints that belong to it.
    expect(stream.update({ ...before, cluster: { a: '3' }, endpoints: { a: '3' } })).toEqual(['endpoints a=3'])
    expect(stream.ack('cluster')).toEqual(['cluster a=3'])
    expect(stream.ack('endpoints')).toEqual(['endpoints a=3'])
  })

  it('lets plain changes of endpoints pass without holding up listeners', () => {
    const stream = running()
    expect(stream.update({ ...before, endpoints: { a: '2' }, listener: { l: '2' } })).toEqual([
      'endpoints a=2',
      'listener l=2',
    ])
  })

  it('does not hold back listeners forever when clusters keep changing', () => {
    const stream = running()
    stream.update({ ...before, cluster: { a: '2' }, listener: { l: '2' } })
    const pushed: string[] = []
    for (let round = 3; round < 12 && !pushed.includes('listener l=2'); round += 1) {
      pushed.push(...stream.update({ ...before, cluster: { a: String(round) }, listener: { l: '2' } }))
      pushed.push(...stream.ack('cluster'))
    }
    expect(pushed).toContain('listener l=2')
  })

  it('removes a listener together with what replaces it', () => {
    expect(running().update({ ...before, listener: { m: '1' } })).toEqual(['listener -l m=1'])
  })

  it('keeps a cluster that a refused listener may still send to', () => {
    const stream = running()
    stream.update({ listener: { l: 'bad' }, route: { r: '1' } })
    expect(stream.nack('listener', 'Error adding/updating listener(s) l: no\n')).toEqual([])
    expect(stream.update({ listener: { l: '3' }, route: { r: '1' } })).toEqual(['listener l=3'])
    expect(stream.ack('listener')).toEqual(['cluster -a'])
  })

  it('does not touch anything but secrets when a secret rotates', () => {
    const stream = running()
    stream.state.updateSecrets(setOf({ 'service-cert': '1' }), '')
    expect(stream.ask('secret', { subscribe: ['service-cert'] })).toEqual(['secret service-cert=1'])
    stream.ack('secret')
    stream.state.updateSecrets(setOf({ 'service-cert': '2' }), '')
    expect(stream.pushed()).toEqual(['secret service-cert=2'])
  })
})

describe('refusals of the delta variant', () => {
  const good = { a: '1', b: '1', c: '1', d: '1' }
  const started = (type: 'cluster' | 'endpoints' | 'route' = 'cluster') => {
    const stream = new Stream({ [type]: good })
    stream.ask(type, type === 'cluster' ? {} : { subscribe: Object.keys(good) })
    stream.settle()
    return stream
  }

  it('parks what is named, and sends the rest again because no one knows whether it was applied', () => {
    const stream = started()
    stream.update({ cluster: { ...good, a: '2', b: 'bad' } })
    expect(stream.nack('cluster', 'Error adding/updating cluster(s) b: no good')).toEqual(['cluster a=2'])
    expect(stream.ack('cluster')).toEqual([])
    expect([...stream.state.unapplied()].map(({ resource, message }) => [resource.name, message])).toEqual([
      ['b', 'Error adding/updating cluster(s) b: no good'],
    ])
    expect(stream.state.settled).toBe(false)
  })

  it('says what was named and what is still looked for', () => {
    const stream = started()
    stream.update({ cluster: { ...good, a: '2', b: 'bad' } })
    const refuse = (message: string) =>
      stream.state.request(
        delta('cluster', { responseNonce: stream.last('cluster').nonce, errorDetail: { code: 13, message } }),
      )
    expect(refuse('something is wrong')).toMatchObject({ kind: 'nack', refused: [] })
    stream.pushed()
    stream.ack('cluster')
    expect(refuse('something is wrong')).toMatchObject({ kind: 'nack', refused: ['b'] })
  })

  it('does not send refused content again until it changes', () => {
    const stream = started()
    stream.update({ cluster: { ...good, b: 'bad' } })
    expect(stream.nack('cluster', 'cluster b is no good')).toEqual([])
    expect(stream.update({ cluster: { ...good, a: '2', b: 'bad' } })).toEqual(['cluster a=2'])
    stream.ack('cluster')
    expect(stream.update({ cluster: { ...good, a: '2', b: 'better' } })).toEqual(['cluster b=better'])
  })

  it.each(['cluster', 'endpoints', 'route'] as const)('finds what is refused without a name among %s', (type) => {
    const stream = started(type)
    stream.update({ [type]: { a: '2', b: '2', c: 'bad', d: '2' } })
    const seen: string[] = []
    for (let round = 0; round < 20; round += 1) {
      const push = stream.last(type)
      const bad = push.resources.some(({ name }) => name === 'c')
      const next = bad ? stream.nack(type, 'no good') : stream.ack(type)
      seen.push(...next)
      if (next.length === 0) break
    }
    expect(seen).toEqual([`${type} a=2 b=2`, `${type} c=bad d=2`, `${type} c=bad`, `${type} d=2`])
    expect([...stream.state.unapplied()].map(({ resource }) => resource.name)).toEqual(['c'])
  })

  it('sends a change at once while it looks for what is refused', () => {
    const stream = started()
    stream.update({ cluster: { a: '2', b: '2', c: '2', d: '2' } })
    expect(stream.nack('cluster', 'no good')).toEqual(['cluster a=2 b=2'])
    stream.update({ cluster: { a: '2', b: '2', c: '2', d: '2', e: '1' } })
    expect(stream.ack('cluster')).toEqual(['cluster e=1'])
    expect(stream.ack('cluster')).toEqual(['cluster c=2 d=2'])
  })

  it('tries content that changed meanwhile as if nothing had happened', () => {
    const stream = started()
    stream.update({ cluster: { ...good, b: 'bad' } })
    stream.update({ cluster: { ...good, b: 'better' } })
    expect(stream.nack('cluster', 'cluster b is no good')).toEqual(['cluster b=better'])
  })

  it('goes back to what was there before if that is asked for, and makes sure of it', () => {
    const stream = started()
    stream.update({ cluster: { ...good, a: '2', b: 'bad' } })
    stream.update({ cluster: good })
    // `a` may have been applied although the response was refused.
    expect(stream.nack('cluster', 'Error adding/updating cluster(s) b: no good')).toEqual(['cluster a=1 b=1'])
  })

  it('answers a repeated request for a refused resource by the last good one', () => {
    const stream = started('endpoints')
    stream.update({ endpoints: { ...good, b: 'bad' } })
    stream.nack('endpoints', 'endpoints b')
    expect(stream.ask('endpoints', { subscribe: ['b'] })).toEqual(['endpoints b=1'])
    expect(stream.ack('endpoints')).toEqual([])
  })

  it('names a removal again that stood in a refused response', () => {
    const stream = started()
    stream.update({ cluster: { a: 'bad', b: '1', c: '1' } })
    expect(stream.nack('cluster', 'cluster a is no good')).toEqual(['cluster -d'])
  })

  it('does not repeat a response of mere removals that is refused', () => {
    const stream = started()
    stream.update({ cluster: { a: '1' } })
    expect(stream.nack('cluster', 'no good')).toEqual([])
  })

  it('forgets a refusal when the resource goes', () => {
    const stream = started()
    stream.update({ cluster: { ...good, e: 'bad' } })
    stream.nack('cluster', 'cluster e is no good')
    expect(stream.update({ cluster: good })).toEqual([])
    expect(stream.state.settled).toBe(true)
  })
})
