import { describe, expect, it, jest } from '@jest/globals'
import { type Capabilities, optionalFeatures, type PartReport, type Principal } from '@osm-ts/driver-api'
import type { InboundPart, PolicyUpdate, ProxyPart } from '@osm-ts/driver-api/policy'

import { type PolicyPart, makePart } from '../catalog/policy/parts/policy-part.js'
import { PolicyPartStore } from '../catalog/store/policy-part-store.js'
import { PolicyDiffs } from '../catalog/store/policy-diff.js'
import { unprotectedByClass } from './unprotected-by-class.js'
import { PolicyStream } from './policy-stream.js'

const ID = 'shop/store|80'

function inbound(
  rules: readonly { readonly path?: string; readonly callers: readonly string[] }[],
): PolicyPart<InboundPart> {
  const principals = rules.map(({ callers }) =>
    makePart({
      kind: 'principals',
      id: callers.join(','),
      match: 'list',
      principals: callers.map((caller) => `${caller}.ns.td` as Principal),
    }),
  )
  return makePart(
    {
      kind: 'inbound',
      id: ID,
      service: { namespace: 'shop', name: 'store' },
      port: 80,
      targetPort: 80,
      protocol: 'http',
      serverNames: ['store.shop.svc.cluster.local'],
      rules: {
        kind: 'http',
        hosts: ['store.shop'],
        allow: rules.map(({ path }, index) => ({
          match: path === undefined ? {} : { path: { type: 'exact', value: path } },
          allow: principals[index]?.hash ?? ('' as never),
        })),
        routeLimits: [],
      },
    },
    { children: principals },
  )
}

/** A root with one inbound binding; nothing else of it is read here. */
function policy(part: PolicyPart<InboundPart>): PolicyPart<ProxyPart> {
  const root = {
    kind: 'proxy',
    id: 'u',
    inbound: [{ part: part.hash, id: ID, local: { address: '127.0.0.1', port: 80 } }],
  }
  return makePart(root as unknown as ProxyPart, { children: [part] })
}

const open = inbound([{ path: '/a', callers: ['x', 'y'] }])
const narrower = inbound([{ path: '/a', callers: ['x'] }])
const wider = inbound([
  { path: '/a', callers: ['x', 'y'] },
  { path: '/b', callers: ['z'] },
])

function start(beyond?: ConstructorParameters<typeof PolicyStream>[3]): {
  readonly stream: PolicyStream
  readonly store: PolicyPartStore
  readonly next: () => Promise<PolicyUpdate>
} {
  const store = new PolicyPartStore()
  const stream = new PolicyStream(store, new PolicyDiffs(), undefined, beyond)
  const steps = stream.steps(new AbortController().signal)
  return {
    store,
    stream,
    next: async () => {
      const step = await steps.next()
      if (step.done === true) throw new Error('the stream has ended')
      return step.value
    },
  }
}

function say(
  stream: PolicyStream,
  revision: number,
  part: PolicyPart,
  state: PartReport['state'],
  complete = state === 'applied',
): void {
  const message = state === 'rejected' ? { message: 'regex too large', element: '/rules/allow/0' } : {}
  stream.report({ session: 's', revision, complete, parts: [{ hash: part.hash, id: ID, state, ...message }] }, 1000)
}

async function applied(part: PolicyPart<InboundPart>): Promise<ReturnType<typeof start>> {
  const started = start()
  started.stream.want(policy(part))
  const first = await started.next()
  say(started.stream, first.revision, part, 'applied')
  return started
}

describe('PolicyStream', () => {
  it('is applied once endpoints that are apart from the policy are acknowledged too', async () => {
    const { stream } = await applied(open)
    expect([stream.state, stream.progress.hasEndpoints]).toEqual(['applied', true])
    stream.wantEndpoints(4, [open.hash])
    expect([stream.state, stream.progress.hasEndpoints]).toEqual(['unknown', false])
    const report = { session: 's', revision: 1, complete: true, parts: [] }
    stream.report({ ...report, endpoints: 3 }, 1000)
    stream.report(report, 1000)
    expect(stream.state).toBe('unknown')
    stream.report({ ...report, endpoints: 5 }, 1000)
    expect([stream.state, stream.progress.hasEndpoints]).toEqual(['applied', true])
    // Had the policy named the part no more, its endpoints would never be acknowledged.
    stream.wantEndpoints(6, [open.hash])
    expect([...stream.awaitedEndpoints]).toEqual([open.hash])
    stream.forgetEndpoints()
    expect(stream.state).toBe('applied')
  })

  it('holds a bounded number of versions for a proxy that acknowledges none, and the last that it acknowledged', async () => {
    const { stream, store, next } = await applied(open)
    const held = store.size
    let last = open
    for (let n = 0; n < 500; n += 1) {
      last = inbound([{ path: `/${n}`, callers: ['x'] }])
      stream.want(policy(last))
      await next()
    }
    // A version is a root and an inbound part here; all share the part of their callers.
    expect(store.size).toBeLessThanOrEqual(held + 2 * 64 + 1)
    expect(store.get(open.hash)).toBeDefined()
    expect(store.get(last.hash)).toBeDefined()
    say(stream, stream.progress.revision, last, 'applied')
    expect(stream.state).toBe('applied')
    stream.close()
    expect(store.size).toBe(0)
  })

  it('tells which parts of its policy the proxy has not acknowledged', async () => {
    const { stream, next } = start()
    const [callers] = open.children.map(({ hash }) => hash)
    stream.want(policy(open))
    expect(new Set(stream.unacknowledged())).toEqual(new Set([open.hash, callers]))
    const first = await next()
    say(stream, first.revision, open, 'applied', false)
    expect(stream.unacknowledged()).toEqual([callers])
    stream.report({ session: 's', revision: 1, complete: true, parts: [] }, 1000)
    expect(stream.unacknowledged()).toEqual([])

    stream.want(policy(wider))
    expect(stream.unacknowledged()).toContain(wider.hash)
    const second = await next()
    // An acknowledgement of the policy before says nothing of this one.
    say(stream, first.revision, wider, 'applied', false)
    expect(stream.unacknowledged()).toContain(wider.hash)
    say(stream, second.revision, wider, 'rejected')
    expect(stream.unacknowledged()).toContain(wider.hash)
    stream.want(policy(open))
    expect(stream.unacknowledged()).toEqual([])
  })

  it('compares a policy with the previous one once, however often it is asked what is missing', async () => {
    const diffs = new PolicyDiffs()
    const between = jest.spyOn(diffs, 'between')
    const stream = new PolicyStream(new PolicyPartStore(), diffs)
    stream.want(policy(open))
    const missing = stream.unacknowledged()
    expect(missing).not.toEqual([])
    expect(stream.unacknowledged()).toEqual(missing)
    expect(between).toHaveBeenCalledTimes(1)
    stream.want(policy(wider))
    expect(stream.unacknowledged()).toContain(wider.hash)
    expect(between).toHaveBeenCalledTimes(2)
    stream.close()
  })

  it('closes from the start what the class could not protect, says why, and opens it with a policy that the class can do', async () => {
    const less: Capabilities = {
      protocols: ['http'],
      pathMatches: [],
      headerMatches: [],
      upstreamIdentity: 'principal',
      modes: ['explicit'],
      standalone: true,
      ipFamilies: ['IPv4'],
      operatingSystems: ['linux'],
      drain: false,
      features: optionalFeatures,
    }
    const { stream, next } = start(unprotectedByClass('less', less))
    stream.want(policy(open))
    const first = await next()
    expect(first.added.filter(({ kind }) => kind === 'inbound').map(({ hash }) => hash)).not.toContain(open.hash)
    const [closed] = first.proxy.inbound
    stream.report(
      {
        session: 's',
        revision: 1,
        complete: true,
        parts: [{ hash: closed!.part, id: ID, state: 'applied' }],
      },
      1000,
    )
    expect([stream.state, stream.progress.denied]).toEqual(['rejected', [ID]])
    expect(stream.progress.rejected.get(ID)?.report).toEqual({
      hash: open.hash,
      id: ID,
      state: 'rejected',
      message: 'sidecar class less cannot do this (path-match:exact); the port is closed',
      element: '/rules/allow/0/match/path',
    })
    const anyPath = inbound([{ callers: ['x'] }])
    stream.want(policy(anyPath))
    const second = await next()
    expect(second.proxy.inbound[0]?.part).toBe(anyPath.hash)
    say(stream, second.revision, anyPath, 'applied')
    expect([stream.state, stream.progress.denied]).toEqual(['applied', []])
  })

  it('gives the whole policy first, then differences to what was given last', async () => {
    const { stream, next } = await applied(open)
    stream.want(policy(wider))
    stream.want(policy(narrower))
    const step = await next()
    expect(step.revision).toBe(2)
    expect(step.added.filter(({ kind }) => kind === 'inbound').map(({ hash }) => hash)).toEqual([narrower.hash])
    expect(step.removed.filter(({ kind }) => kind === 'inbound').map(({ hash }) => hash)).toEqual([open.hash])
  })

  it('holds the parts of every version that may still be read, and lets all go at the end', async () => {
    const { stream, store, next } = await applied(open)
    stream.want(policy(wider))
    await next()
    expect(store.get(open.hash)).toBeDefined()
    say(stream, 2, wider, 'applied')
    expect(store.get(open.hash)).toBeUndefined()
    expect(store.get(wider.hash)).toBeDefined()
    stream.close()
    expect(store.size).toBe(0)
  })

  it('falls back to the deny form when a change that removes access is refused, and leaves it with the next change', async () => {
    const { stream, store, next } = await applied(open)
    stream.want(policy(narrower))
    const second = await next()
    say(stream, second.revision, narrower, 'rejected')
    const third = await next()
    const denied = third.added.find(({ kind }) => kind === 'inbound')
    expect(denied?.id).toBe(ID)
    expect(denied?.hash).not.toBe(narrower.hash)
    expect(store.get(denied!.hash)).toMatchObject({ rules: { kind: 'deny' } })
    expect(stream.progress.denied).toEqual([ID])
    stream.report({ session: 's', revision: third.revision, complete: true, parts: [] }, 2000)
    expect([...stream.progress.rejected.values()].map(({ report }) => report.message)).toEqual(['regex too large'])

    stream.want(policy(open))
    const fourth = await next()
    expect(fourth.added.find(({ kind }) => kind === 'inbound')?.hash).toBe(open.hash)
    say(stream, fourth.revision, open, 'applied')
    expect(stream.progress).toMatchObject({ denied: [], appliedRevision: fourth.revision })
    expect(stream.progress.rejected.size).toBe(0)
  })

  it.each([
    ['is gone', makePart({ kind: 'proxy', id: 'u', inbound: [] } as unknown as ProxyPart)],
    ['serves something else', policy(open)],
  ])('keeps no port closed for a refused change when the refusal comes after the port %s', async (_, newer) => {
    const { stream, next } = await applied(open)
    stream.want(policy(narrower))
    const second = await next()
    stream.want(newer)
    const third = await next()
    say(stream, second.revision, narrower, 'rejected')
    stream.report({ session: 's', revision: third.revision, complete: true, parts: [] }, 2000)
    expect(third.version).toBe(newer.hash)
    expect([stream.state, stream.progress.denied, stream.progress.rejected.size]).toEqual(['applied', [], 0])
  })

  it('knows a part that is refused after newer policies have replaced it', async () => {
    const { stream, next } = await applied(open)
    stream.want(policy(wider))
    const second = await next()
    // The object that the part came from is removed, and its port with it.
    const root = { kind: 'proxy', id: 'u', inbound: [] }
    stream.want(makePart(root as unknown as ProxyPart))
    await next()
    say(stream, second.revision, wider, 'rejected')
    expect(stream.progress.rejected.get(ID)?.part).toBe(wider)
  })

  it('keeps the last good version when a refused change only adds access', async () => {
    const { stream } = await applied(open)
    stream.want(policy(wider))
    const steps = stream.steps(AbortSignal.timeout(5000))
    const step = await steps.next()
    if (step.done === true) throw new Error('the stream has ended')
    say(stream, step.value.revision, wider, 'rejected')
    expect(stream.progress).toMatchObject({ denied: [], appliedRevision: 1 })
    expect(step.value.proxy.inbound[0]?.part).toBe(wider.hash)
  })

  it('forgets the refusal of a part that is no longer wanted', async () => {
    const { stream, next } = await applied(open)
    stream.want(policy(wider))
    const second = await next()
    say(stream, second.revision, wider, 'rejected')
    expect(stream.progress.rejected.size).toBe(1)
    const empty = { kind: 'proxy', id: 'u', inbound: [] }
    stream.want(makePart(empty as unknown as ProxyPart))
    const third = await next()
    stream.report({ session: 's', revision: third.revision, complete: true, parts: [] }, 2000)
    expect(stream.progress.rejected.size).toBe(0)
  })
})
