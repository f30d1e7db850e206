import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import {
  type OutboundRoute,
  type Part,
  type PartHash,
  PLUGIN_TYPE,
  type ProxyPolicy,
  type RouteMatch,
  type StringMatch,
} from '@osm-ts/driver-api/policy'
import fc from 'fast-check'
import { RE2JS } from 're2js'

import { mayCall } from '../../codebase/callers.js'
import { matchesRequest } from '../../codebase/match.js'
import { encodeDocument } from '../config/document.js'
import { translate, type Translation } from './translate.js'

// Documents are neutral: every class is to do the same with them.
const inputs = new URL('../../../driver-envoy/src/testdata/in/', import.meta.url)
const goldens = new URL('../testdata/', import.meta.url)
const update = process.env['UPDATE_GOLDEN'] === '1'
const files = readdirSync(inputs).sort()

function policyOf(file: string): ProxyPolicy {
  return JSON.parse(readFileSync(new URL(file, inputs), 'utf8')) as ProxyPolicy
}

function lookupIn({ parts }: ProxyPolicy): (hash: PartHash) => Part {
  return (hash) => {
    const part = parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }
}

function translated(policy: ProxyPolicy): Translation {
  return translate(policy.proxy, lookupIn(policy))
}

describe('translation of whole documents', () => {
  if (update) {
    rmSync(goldens, { recursive: true, force: true })
    mkdirSync(goldens)
  }

  it.each(files)('%s gives the expected configuration', (file) => {
    const { needs, ...rest } = translated(policyOf(file))
    const actual: unknown = JSON.parse(JSON.stringify({ ...rest, ...(needs.length > 0 && { needs }) }))
    const golden = new URL(file, goldens)
    if (update) writeFileSync(golden, readable(actual))
    expect(actual).toEqual(JSON.parse(readFileSync(golden, 'utf8')))
  })

  it('has an expectation for every document, and no other', () => {
    expect(readdirSync(goldens).sort()).toEqual(files)
  })

  it.each(files)('%s gives the same bytes in whatever order sets list their members', (file) => {
    const { body } = encodeDocument(translated(policyOf(file)).config)
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat({ max: 1000 })), (numbers) => {
        const random = (): number => Number(numbers.next().value)
        const policy = withSetsShuffled(policyOf(file), random)
        expect(encodeDocument(translated(policy).config).body).toBe(body)
      }),
      { numRuns: 10 },
    )
  })
})

/** JSON with lists of numbers on one line each. */
function readable(value: unknown): string {
  const numbers = /\[\s+(-?\d+(?:,\s+-?\d+)*)\s+\]/g
  return `${JSON.stringify(value, null, 2).replaceAll(numbers, (_, list: string) => `[${list.replaceAll(/\s+/g, ' ')}]`)}\n`
}

/** Members of sets and bindings in another order; hashes stay, since no one looks at them here. */
function withSetsShuffled(policy: ProxyPolicy, random: () => number): ProxyPolicy {
  const shuffled = <T>(list: readonly T[]): readonly T[] =>
    list
      .map((item) => ({ item, order: random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ item }) => item)
  const parts = Object.fromEntries(
    Object.entries(policy.parts).map(([hash, part]): [string, Part] => [
      hash,
      part.kind === 'set' ? { ...part, members: shuffled(part.members), sets: shuffled(part.sets) } : part,
    ]),
  )
  const { proxy } = policy
  return {
    ...policy,
    parts,
    proxy: {
      ...proxy,
      inbound: shuffled(proxy.inbound),
      outboundBindings: shuffled(proxy.outboundBindings),
      probes: shuffled(proxy.probes),
    },
  }
}

/** The conditions of a rule as the text of the policy has them. */
function holds({ path, methods, headers }: RouteMatch, request: Request): boolean {
  return (
    (path === undefined || fits(path, request.path)) &&
    (methods === undefined || methods.includes(request.method)) &&
    (headers ?? []).every(({ name, match, invert }) => {
      const value = request.headers[name]
      if (match.type === 'present') return (value !== undefined) !== (invert === true)
      return value !== undefined && fits(match, value) !== (invert === true)
    })
  )
}

function fits(match: StringMatch, value: string): boolean {
  switch (match.type) {
    case 'exact':
      return value === match.value
    case 'prefix':
      return value.startsWith(match.value)
    case 'present':
      return true
    case 'regex':
      return RE2JS.compile(match.value).matches(value)
  }
}

interface Request {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

const request = fc.record({
  path: fc.oneof(
    fc.constantFrom('/books-bought', '/', '/a-book/new', '/x-a-book-y-new', '/buy-a-book/new', '/admin', '/books/1'),
    fc.string({ maxLength: 12 }).map((text) => `/${text}`),
  ),
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
  headers: fc.dictionary(
    fc.constantFrom('client-app', 'user-agent', 'x-other'),
    fc.constantFrom('bookbuyer', 'bookthief', '', 'curl/8'),
  ),
})

const principal = fc.constantFrom(
  'bookbuyer.bookbuyer.cluster.local',
  'bookthief.bookthief.cluster.local',
  'client.shop.cluster.local',
  'x.y.example.com',
  'cluster.local',
)

describe('routes', () => {
  /** A route of a called service as the sidecar gets it. */
  function translatedRoute(route: Partial<OutboundRoute>): unknown {
    const policy = policyOf('smi-http-split.json')
    const routes = [{ match: {}, targets: [], timeoutMs: 0, ...route }]
    const parts = Object.fromEntries(
      Object.entries(policy.parts).map(([hash, part]): [string, Part] => [
        hash,
        part.kind === 'outbound' ? { ...part, rules: { kind: 'http', routes } } : part,
      ]),
    )
    const { config, refusals } = translated({ ...policy, parts })
    expect(refusals).toEqual([])
    const { match: _match, ...rest } = config.called[0]?.routes?.[0] ?? {}
    return rest
  }

  const segments = { path: { type: 'segments', value: '/a' } } as const
  const target = (upstream: string, more: object = {}) => ({ upstream, weight: 1, ...more })
  const removed = (...remove: readonly string[]) => ({ remove })

  it.each<readonly [string, Partial<OutboundRoute>, unknown]>([
    ['no target', {}, { shares: [] }],
    ['a target without weight', { targets: [target('a', { weight: 0 })] }, { shares: [] }],
    [
      'errors',
      { targets: [target('b'), target('a')], errorWeight: 2, errorStatus: 503 },
      { shares: [target('a'), target('b'), { status: 503, weight: 2 }] },
    ],
    ['nothing but errors', { errorWeight: 1 }, { shares: [{ status: 500, weight: 1 }] }],
    [
      'changes of headers',
      {
        requestHeaders: { set: [{ name: 'x', value: '1' }], add: [{ name: 'y', value: '' }] },
        responseHeaders: removed('z'),
        targets: [target('a', { responseHeaders: removed('w') }), target('a', { requestHeaders: removed('v') })],
      },
      {
        request: { set: [['x', '1']], add: [['y', '']] },
        response: removed('z'),
        shares: [target('a', { request: removed('v') }), target('a', { response: removed('w') })],
      },
    ],
    [
      'changes of headers of one hop, and of those that scripts use',
      {
        requestHeaders: { set: [{ name: 'host', value: 'x' }], remove: ['connection', 'x'] },
        responseHeaders: { add: [{ name: 'osm-sidecar-framing', value: 'continue' }], remove: ['trailer'] },
      },
      { request: removed('x'), shares: [] },
    ],
    [
      'a redirect to the usual port of a scheme',
      { redirect: { status: 301, scheme: 'https', host: 'b', port: 443, path: { type: 'full', value: '/x' } } },
      { redirect: { status: 301, scheme: 'https', host: 'b', path: { full: '/x' } }, shares: [] },
    ],
    [
      'a redirect to another port',
      { redirect: { status: 302, host: 'b', port: 443 } },
      { redirect: { status: 302, host: 'b', port: 443 }, shares: [] },
    ],
    [
      'a redirect to a port',
      { redirect: { status: 302, port: 80 } },
      { redirect: { status: 302, port: 80 }, shares: [] },
    ],
    [
      'a rewrite of segments',
      { match: segments, rewrite: { host: 'b', path: { type: 'prefix', value: '' } } },
      { rewrite: { host: 'b', path: { prefix: '/a', value: '' } }, shares: [] },
    ],
    [
      'a rewrite of any path',
      { rewrite: { path: { type: 'prefix', value: '/b' } } },
      { rewrite: { path: { prefix: '', value: '/b' } }, shares: [] },
    ],
    [
      'copies',
      { mirrors: [{ upstream: 'a', perMillion: 5 }], timeoutMs: 10 },
      { mirrors: [{ upstream: 'a', perMillion: 5 }], timeoutMs: 10, shares: [] },
    ],
  ])('with %s say so to the sidecar', (_what, route, expected) => {
    expect(translatedRoute(route)).toEqual(expected)
  })
})

describe('a workload that has ended', () => {
  it('is told to its sidecar, and no other is', () => {
    const policy = policyOf('explicit.json')
    const ended = { ...policy, proxy: { ...policy.proxy, workloadEnded: true as const } }
    expect(translated(ended).config.ended).toBe(true)
    expect(translated(policy).config).not.toHaveProperty('ended')
  })
})

describe('plugins', () => {
  const withPlugin = (script: string): Translation => {
    const policy = policyOf('probes.json')
    const { proxy, parts } = policy
    const hash = 'plugin-part' as PartHash
    const value = {
      plugin: 'mine',
      priority: 1,
      chains: ['inbound-http'],
      script,
      configs: [{ service: 'a/b', config: { word: 1 } }],
    }
    const part: Part = { kind: 'extension', id: 'plugin/mine', class: 'pipy', type: PLUGIN_TYPE, value }
    return translated({ ...policy, proxy: { ...proxy, extensions: [hash] }, parts: { ...parts, [hash]: part } })
  }

  it('go out with guards, and another path for another script', () => {
    const { config, refusals } = withPlugin('export function request() {}')
    expect(refusals).toEqual([])
    expect(config.plugins).toMatchObject([{ name: 'mine', chains: ['inbound-http'], configs: { 'a/b': { word: 1 } } }])
    expect(config.plugins[0]?.script).toMatch(/export function request[(][)] [{] __osmStep[(][)];[}]$/)
    expect(config.plugins[0]?.path).not.toBe(withPlugin('export function response() {}').config.plugins[0]?.path)
  })

  it('that cannot go out are reported, and refuse what would come to them', () => {
    const { config, refusals } = withPlugin('while (true) {}')
    expect(refusals).toMatchObject([
      { ref: { id: 'plugin/mine' }, pointer: '/value/script', message: 'line 1: Pipy does not read WhileStatement' },
    ])
    expect(config.plugins[0]).not.toHaveProperty('script')
  })
})

describe('what a port lets in', () => {
  it.each(files)('by %s is what its policy lets in, and nothing else', (file) => {
    const policy = policyOf(file)
    const { config } = translated(policy)
    for (const { part: hash } of policy.proxy.inbound) {
      const part = lookupIn(policy)(hash)
      if (part.kind !== 'inbound') throw new Error(`${hash} is no inbound part`)
      const port = config.served.find(({ id }) => id === part.id)
      if (part.rules.kind === 'http' && port?.rules.kind === 'http') {
        const { rules } = part
        const { allow } = port.rules
        fc.assert(
          fc.property(request, principal, (asked, caller) => {
            const written = rules.allow.some((rule) => {
              const callers = lookupIn(policy)(rule.allow)
              if (callers.kind !== 'principals') return false
              const isAmong =
                callers.match === 'list'
                  ? callers.principals.some((each) => each === caller)
                  : new RegExp(`^.+[.].+[.]${callers.trustDomain.replaceAll('.', '[.]')}$`).test(caller)
              return isAmong && holds(rule.match, asked)
            })
            const done = allow.some(
              (rule) => matchesRequest(rule.match, asked) && mayCall(config.callers[rule.callers], caller),
            )
            expect([asked, caller, done]).toEqual([asked, caller, written])
          }),
        )
      } else {
        expect(port?.rules.kind).toBe(part.externalAuthorization === undefined ? part.rules.kind : 'deny')
      }
    }
  })
})
