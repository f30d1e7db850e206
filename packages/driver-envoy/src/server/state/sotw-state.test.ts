import { describe, expect, it } from '@jest/globals'

import type { State } from '../../../test/xds/resources.js'
import { resourcesOf, setOf } from '../../../test/xds/resources.js'
import { drain, inWords, sotw, stateOfTheWorld } from '../../../test/xds/streams.js'
import type { Push } from './push.js'
import type { StateOfTheWorldState } from './sotw-state.js'
import type { XdsType } from '../xds-types.js'

/** A stream as a proxy would drive it: it repeats names and the last good version in every request. */
class Stream {
  readonly state: StateOfTheWorldState
  readonly #last = new Map<XdsType, Push>()
  readonly #names = new Map<XdsType, readonly string[]>()
  readonly #version = new Map<XdsType, string>()

  constructor(state?: State, make = stateOfTheWorld()) {
    this.state = make
    if (state !== undefined) this.update(state)
  }

  update(state: State, label = ''): readonly string[] {
    this.state.update(resourcesOf(state), { listener: label })
    return this.pushed()
  }

  /** Requests names under the last nonce. */
  ask(type: XdsType, names: readonly string[] = [], versionInfo?: string): readonly string[] {
    this.#names.set(type, names)
    if (versionInfo !== undefined) this.#version.set(type, versionInfo)
    return this.#request(type, this.#last.get(type)?.nonce ?? '')
  }

  ack(type: XdsType, names?: readonly string[]): readonly string[] {
    if (names !== undefined) this.#names.set(type, names)
    const { nonce, version } = this.last(type)
    this.#version.set(type, version)
    return this.#request(type, nonce)
  }

  nack(type: XdsType, message: string): readonly string[] {
    return this.#request(type, this.last(type).nonce, message)
  }

  stale(type: XdsType, names: readonly string[]): readonly string[] {
    this.state.request(sotw(type, { resourceNames: names, responseNonce: 'of-another-time' }))
    return this.pushed()
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

  /** What the proxy would say first on another stream. */
  version(type: XdsType): string {
    return this.#version.get(type) ?? ''
  }

  #request(type: XdsType, responseNonce: string, message?: string): readonly string[] {
    const resourceNames = this.#names.get(type) ?? []
    const fields = { resourceNames, responseNonce, versionInfo: this.version(type) }
    this.state.request(sotw(type, message === undefined ? fields : { ...fields, errorDetail: { code: 13, message } }))
    return this.pushed()
  }
}

describe('subscriptions of the state-of-the-world variant', () => {
  it('takes an empty first request for everything', () => {
    expect(new Stream({ cluster: { a: '1', b: '1' } }).ask('cluster')).toEqual(['cluster a=1 b=1'])
  })

  it('answers a first wildcard even if there is nothing', () => {
    expect(new Stream({}).ask('listener')).toEqual(['listener'])
  })

  it('knows the explicit wildcard, with and without further names', () => {
    const stream = new Stream({ listener: { a: '1', b: '1' } })
    expect(stream.ask('listener', ['*'])).toEqual(['listener a=1 b=1'])
    expect(stream.ack('listener', ['*', 'a'])).toEqual(['listener a=1 b=1'])
    stream.ack('listener')
    // Giving up the wildcard leaves the name.
    expect(stream.ask('listener', ['a'])).toEqual([])
    expect(stream.update({ listener: { a: '1', b: '2' } })).toEqual([])
    expect(stream.update({ listener: { a: '2', b: '2' } })).toEqual(['listener a=2'])
  })

  it('does not take a later empty list for the wildcard', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster', ['a'])
    expect(stream.ack('cluster', [])).toEqual([])
    expect(stream.update({ cluster: { a: '2' } })).toEqual([])
  })

  it('sends only what was asked for, and only what is new when more is requested', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1', c: '1' } })
    expect(stream.ask('endpoints', ['a'])).toEqual(['endpoints a=1'])
    expect(stream.ack('endpoints', ['a', 'b'])).toEqual(['endpoints b=1'])
    expect(stream.ack('endpoints', ['b'])).toEqual([])
    expect(stream.update({ endpoints: { a: '2', b: '1', c: '2' } })).toEqual([])
  })

  it('sends a resource again that was given up and is asked for again', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    stream.ask('endpoints', ['a', 'b'])
    stream.ack('endpoints', ['b'])
    expect(stream.ask('endpoints', ['a', 'b'])).toEqual(['endpoints a=1'])
  })

  it('sends nothing for a type of names when none is given', () => {
    expect(new Stream({ endpoints: { a: '1' } }).ask('endpoints')).toEqual([])
  })

  it.each(['endpoints', 'route'] as const)('answers %s that do not exist by empty ones', (type) => {
    const stream = new Stream({ [type]: { a: '1' } })
    stream.ask(type, ['a', 'x'])
    expect(stream.last(type).resources.map(({ name }) => name)).toEqual(['a', 'x'])
    expect(stream.ack(type)).toEqual([])
    expect(stream.update({ [type]: { a: '1', x: '1' } })).toEqual([`${type} x=1`])
  })

  it('answers a request for a secret that does not exist by a response without it', () => {
    const stream = new Stream({})
    stream.state.updateSecrets(setOf({ 'service-cert': '1' }), '')
    expect(stream.ask('secret', ['someone-elses'])).toEqual(['secret'])
    expect(stream.ack('secret', ['someone-elses', 'service-cert'])).toEqual(['secret service-cert=1'])
  })

  it('answers a request that came before the first policy as soon as there is one', () => {
    const stream = new Stream()
    expect(stream.ask('cluster')).toEqual([])
    expect(stream.update({ cluster: { a: '1' } })).toEqual(['cluster a=1'])
  })
})

describe('versions and nonces of the state-of-the-world variant', () => {
  it('ignores a stale nonce, names included', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    stream.ask('endpoints', ['a'])
    expect(stream.stale('endpoints', ['a', 'b'])).toEqual([])
    expect(stream.ack('endpoints', ['a', 'b'])).toEqual(['endpoints b=1'])
  })

  it('takes the nonce of another server for a first request', () => {
    expect(new Stream({ cluster: { a: '1' } }).stale('cluster', [])).toEqual(['cluster a=1'])
  })

  it('sends all clusters and listeners in every response', () => {
    const stream = new Stream({ cluster: { a: '1', b: '1' } })
    stream.ask('cluster')
    stream.ack('cluster')
    expect(stream.update({ cluster: { a: '2', b: '1' } })).toEqual(['cluster a=2 b=1'])
  })

  it('sends only what changed of other types', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    stream.ask('endpoints', ['a', 'b'])
    stream.ack('endpoints')
    expect(stream.update({ endpoints: { a: '2', b: '1' } })).toEqual(['endpoints a=2'])
  })

  it('sends nothing when nothing changed', () => {
    const stream = new Stream({ cluster: { a: '1' } })
    stream.ask('cluster')
    stream.ack('cluster')
    expect(stream.update({ cluster: { a: '1' } })).toEqual([])
  })

  it('has one response of a type in flight and sends the newest state after it', () => {
    const stream = new Stream({ listener: { a: '1' } })
    stream.ask('listener')
    expect(stream.update({ listener: { a: '2' } })).toEqual([])
    expect(stream.update({ listener: { a: '3' } })).toEqual([])
    expect(stream.ack('listener')).toEqual(['listener a=3'])
  })

  it.each([
    ['cluster', []],
    ['listener', []],
    ['endpoints', ['a', 'b']],
    ['endpoints', ['a']],
    ['route', ['b']],
  ] as const)('sends nothing to a proxy that reconnects with the same %s %j', (type, names) => {
    const state = { [type]: { a: '1', b: '1' } }
    const before = new Stream(state)
    before.ask(type, names)
    before.ack(type)
    const after = new Stream(state)
    expect(after.ask(type, names, before.version(type))).toEqual([])
    expect(after.update({ [type]: { a: '1', b: '1' } })).toEqual([])
    expect(after.update({ [type]: { a: '2', b: '2' } })).toHaveLength(1)
  })

  it('answers names again that do not exist, because no version tells that they were answered', () => {
    const before = new Stream({ endpoints: { a: '1' } })
    before.ask('endpoints', ['a', 'x'])
    before.ack('endpoints')
    const after = new Stream({ endpoints: { a: '1' } })
    after.ask('endpoints', ['a', 'x'], before.version('endpoints'))
    expect(after.last('endpoints').resources.map(({ name }) => name)).toEqual(['x'])
  })

  it('does not take names that were given up for a change', () => {
    const before = new Stream({ endpoints: { a: '1' } })
    before.ask('endpoints', ['a', 'x'])
    before.ack('endpoints', ['a'])
    expect(new Stream({ endpoints: { a: '1' } }).ask('endpoints', ['a'], before.version('endpoints'))).toEqual([])
  })

  it('sends everything to a proxy that reconnects with another version', () => {
    const stream = new Stream({ endpoints: { a: '1', b: '1' } })
    expect(stream.ask('endpoints', ['a', 'b'], 'another')).toEqual(['endpoints a=1 b=1'])
  })

  it('does not take an equal version for proof that a name was sent which is only requested now', () => {
    const state = { endpoints: { a: '1', b: '1' } }
    const before = new Stream(state)
    before.ask('endpoints', ['a'])
    before.ack('endpoints')
    // The stream broke after the proxy had learnt of `b` and before it was answered.
    expect(new Stream(state).ask('endpoints', ['a', 'b'], before.version('endpoints'))).toEqual(['endpoints a=1 b=1'])
  })

  it('writes a label behind the version of listeners and reads past it', () => {
    const before = new Stream()
    before.update({ listener: { a: '1' } }, '~abcdefgh.epoch')
    before.ask('listener')
    expect(before.last('listener').version).toMatch(/^[\w-]+~abcdefgh\.epoch$/)
    before.ack('listener')
    expect(new Stream({ listener: { a: '1' } }).ask('listener', [], before.version('listener'))).toEqual([])
  })
})

describe('order of the state-of-the-world variant', () => {
  const before: State = { cluster: { a: '1' }, endpoints: { a: '1' }, listener: { l: '1' }, route: { r: '1' } }
  const running = () => {
    const stream = new Stream(before)
    stream.ask('cluster')
    stream.ask('endpoints', ['a'])
    stream.ack('cluster')
    stream.ack('endpoints')
    stream.ask('listener')
    stream.ask('route', ['r'])
    stream.ack('listener')
    stream.ack('route')
    return stream
  }

  it('keeps what is gone until nothing refers to it, then leaves it out', () => {
    const stream = running()
    const after = { cluster: { b: '1' }, endpoints: { b: '1' }, listener: { l: '2' }, route: { r: '2' } }
    expect(stream.update(after)).toEqual(['cluster a=1 b=1'])
    expect(stream.ask('endpoints', ['a', 'b'])).toEqual(['endpoints b=1'])
    stream.ack('cluster')
    expect(stream.ack('endpoints')).toEqual(['listener l=2', 'route r=2'])
    stream.ack('listener')
    expect(stream.ack('route')).toEqual(['cluster b=1'])
    stream.ack('cluster')
    expect(stream.ask('endpoints', ['b'])).toEqual([])
    expect(stream.state.settled).toBe(true)
  })

  it('sends the endpoints of a changed cluster again although they did not change', () => {
    expect(running().update({ ...before, cluster: { a: '2' } })).toEqual(['cluster a=2', 'endpoints a=1'])
  })

  it('sends them to a proxy that reconnects with other clusters and the same endpoints', () => {
    const last = running()
    const stream = new Stream(before)
    expect(stream.ask('cluster', [], 'another')).toEqual(['cluster a=1'])
    expect(stream.ask('endpoints', ['a'], last.version('endpoints'))).toEqual(['endpoints a=1'])
  })

  it('has routes wait for endpoints that are requested under a nonce that has just become stale', () => {
    const stream = running()
    const asked = { resourceNames: ['a', 'b'], responseNonce: stream.last('endpoints').nonce }
    const after = {
      cluster: { a: '1', b: '1' },
      endpoints: { a: '2', b: '1' },
      listener: { l: '1' },
      route: { r: '2' },
    }
    expect(stream.update(after)).toEqual(['cluster a=1 b=1', 'endpoints a=2'])
    // The proxy has the new cluster, and not yet the response about endpoints that was sent right behind it.
    stream.state.request(sotw('endpoints', asked))
    expect(stream.pushed()).toEqual([])
    expect(stream.ack('cluster')).toEqual([])
    expect(stream.ack('endpoints', ['a', 'b'])).toEqual(['endpoints b=1'])
    expect(stream.ack('endpoints')).toEqual(['route r=2'])
  })

  it('is settled once a proxy has gone back to the state before', () => {
    const stream = running()
    stream.update({ ...before, endpoints: { a: '1', b: '1' } })
    stream.update(before)
    expect(stream.state.settled).toBe(true)
  })
})

describe('refusals of the state-of-the-world variant', () => {
  const good = { a: '1', b: '1', c: '1', d: '1' }
  const started = () => {
    const stream = new Stream({ cluster: good })
    stream.ask('cluster')
    stream.ack('cluster')
    return stream
  }

  it('sends the last good version of what is refused together with the others', () => {
    const stream = started()
    stream.update({ cluster: { ...good, a: '2', b: 'bad' } })
    const refusal = 'Error adding/updating cluster(s) b: no good'
    expect(stream.nack('cluster', refusal)).toEqual(['cluster a=2 b=1 c=1 d=1'])
    expect(stream.ack('cluster')).toEqual([])
    expect([...stream.state.unapplied()].map(({ resource }) => resource.name)).toEqual(['b'])
    expect(stream.update({ cluster: { ...good, a: '3', b: 'bad' } })).toEqual(['cluster a=3 b=1 c=1 d=1'])
    stream.ack('cluster')
    expect(stream.update({ cluster: { ...good, a: '3', b: 'better' } })).toEqual(['cluster a=3 b=better c=1 d=1'])
  })

  it('leaves out what was refused when it was new', () => {
    const stream = started()
    stream.update({ cluster: { ...good, a: '2', e: 'bad' } })
    expect(stream.nack('cluster', 'Error adding/updating cluster(s) e: no good')).toEqual(['cluster a=2 b=1 c=1 d=1'])
  })

  it('finds what is refused without a name by trying the candidates beside the last good versions of the others', () => {
    const stream = started()
    stream.update({ cluster: { a: '2', b: '2', c: 'bad', d: '2' } })
    expect(stream.nack('cluster', 'no good')).toEqual(['cluster a=2 b=2 c=1 d=1'])
    expect(stream.ack('cluster')).toEqual(['cluster a=2 b=2 c=bad d=2'])
    expect(stream.nack('cluster', 'no good')).toEqual(['cluster a=2 b=2 c=bad d=1'])
    expect(stream.nack('cluster', 'no good')).toEqual(['cluster a=2 b=2 c=1 d=2'])
    expect(stream.ack('cluster')).toEqual([])
  })

  it('never removes what the proxy may have in a version that is not known here', () => {
    const stream = new Stream({ cluster: { a: '2', b: 'bad' } })
    stream.ask('cluster', [], 'of-the-controller-before')
    // The last good `b` is known to the proxy only: leaving it out would delete it, sending it again would be refused again.
    expect(stream.nack('cluster', 'Error adding/updating cluster(s) b: no good')).toEqual([])
    expect(
      [...stream.state.unapplied()].map(({ resource, message }) => [resource.name, message !== undefined]),
    ).toEqual([
      ['a', false],
      ['b', true],
    ])
    // A change brings it along, because each response must hold everything.
    expect(stream.update({ cluster: { a: '3', b: 'bad' } })).toEqual(['cluster a=3 b=bad'])
    expect(stream.nack('cluster', 'Error adding/updating cluster(s) b: no good')).toEqual([])
  })

  it('does not look for what is refused without a name where that would remove resources', () => {
    const stream = new Stream({ cluster: { a: '2', b: 'bad' } })
    stream.ask('cluster', [], 'of-the-controller-before')
    expect(stream.nack('cluster', 'no good')).toEqual([])
    expect(stream.update({ cluster: { a: '2', b: 'better' } })).toEqual(['cluster a=2 b=better'])
    expect(stream.ack('cluster')).toEqual([])
    expect(stream.state.settled).toBe(true)
  })

  it('does not acknowledge on behalf of a refused response', () => {
    const stream = started()
    const version = stream.version('cluster')
    stream.update({ cluster: { ...good, b: 'bad' } })
    stream.nack('cluster', 'cluster b is no good')
    // The proxy still says the version before; another server sees that it has not everything.
    expect(stream.version('cluster')).toBe(version)
    expect(new Stream({ cluster: { ...good, b: 'bad' } }).ask('cluster', [], version)).toHaveLength(1)
  })
})
