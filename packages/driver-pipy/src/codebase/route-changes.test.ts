import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { matchesRequest } from '../../codebase/match.js'
import {
  changeAnswer,
  changeRequest,
  changesMessages,
  isStrictRoute,
  redirectAnswer,
} from '../../codebase/route-changes.js'

type Headers = Record<string, string | readonly string[]>

interface Changed {
  readonly path: string
  readonly authority?: string
  readonly headers: Headers
}

/** A request that a route has changed, and what is known of it afterwards. */
function changed(route: object, head: Partial<Changed> = {}, share: object = {}): Changed & { logged: string } {
  const { path = '/a/b?c=d', headers = { host: 'store.shop:80' }, ...rest } = head
  const [own = '', ...query] = path.split('?')
  const request = {
    path: own,
    query: query.length === 0 ? '' : `?${query.join('?')}`,
    authority: String(headers['host']),
    headers,
  }
  const result = { path, headers, ...rest }
  changeRequest(result, request, route, share)
  return { ...result, logged: request.authority }
}

const headersOf = (changes: object, headers: Headers): Headers => changed({ request: changes }, { headers }).headers

describe('changes of headers', () => {
  it('replace, add and remove values', () => {
    const changes = { set: [['x-set', '1']], add: [['x-add', '2']], remove: ['x-gone'] }
    expect(headersOf(changes, { 'x-set': ['a', 'b'], 'x-add': '1', 'x-gone': 'c', 'x-kept': 'd' })).toEqual({
      'x-set': '1',
      'x-add': '1,2',
      'x-kept': 'd',
    })
    expect(headersOf(changes, {})).toEqual({ 'x-set': '1', 'x-add': '2' })
  })

  it('join what is added to cookies as cookies are joined, and keep cookies that are set apart', () => {
    expect(headersOf({ add: [['cookie', 'b=2']] }, { cookie: 'a=1' })).toEqual({ cookie: 'a=1; b=2' })
    expect(headersOf({ add: [['set-cookie', 'b=2']] }, { 'set-cookie': 'a=1' })).toEqual({
      'set-cookie': ['a=1', 'b=2'],
    })
  })

  it('of a share come after those of its route, in requests and in answers', () => {
    const changes = (value: string) => ({ set: [['x', value]] })
    expect(changed({ request: changes('route') }, { headers: {} }, { request: changes('share') }).headers).toEqual({
      x: 'share',
    })
    const head: { headers?: Headers } = {}
    changeAnswer(head, { response: changes('route') }, { response: changes('share') })
    expect(head.headers).toEqual({ x: 'share' })
  })

  it('of answers apply to those that no share has given', () => {
    const head = { headers: {} }
    changeAnswer(head, { response: { add: [['x', '1']] } }, undefined)
    expect(head.headers).toEqual({ x: '1' })
  })
})

describe('rewrites', () => {
  it('give a host without a port to either version of HTTP', () => {
    const rewrite = { host: 'api.example.com' }
    expect(changed({ rewrite })).toMatchObject({
      headers: { host: 'api.example.com' },
      logged: 'api.example.com',
      path: '/a/b?c=d',
    })
    expect(changed({ rewrite }).authority).toBeUndefined()
    expect(changed({ rewrite }, { authority: 'store.shop' })).toMatchObject({ authority: 'api.example.com' })
  })

  it.each([
    [{ full: '/one' }, '/a/b?c=d', '/one?c=d'],
    [{ full: '/one' }, '*', '/one'],
    [{ prefix: '/a', value: '/x' }, '/a/b?c=d', '/x/b?c=d'],
    [{ prefix: '/a', value: '' }, '/a/b', '/b'],
    [{ prefix: '/a', value: '' }, '/a', '/'],
    [{ prefix: '/a', value: '/x' }, '/a?/b', '/x?/b'],
    [{ prefix: '/a', value: '/x' }, '/a/', '/x/'],
    [{ prefix: '', value: '/x' }, '/', '/x/'],
    [{ prefix: '', value: '/x' }, '/a%2Fb', '/x/a%2Fb'],
    [{ prefix: '/%61', value: '/x' }, '/%61/b', '/x/b'],
    [{ prefix: '/a', value: '/x' }, '/a///b', '/x/b'],
    [{ full: '/one' }, '/a?b?c', '/one?b?c'],
  ])('%j make of %s the path %s', (path, before, after) => {
    expect(changed({ rewrite: { path } }, { path: before }).path).toBe(after)
  })
})

interface Sent {
  readonly authority?: string
  readonly protocol?: string
  readonly scheme?: string
  readonly query?: string
  readonly headers?: Headers
}

/** Where a redirect leads. */
function location(redirect: object, sent: Sent = {}, isForward = false): string {
  const request = {
    path: '/a/b',
    query: '?c=d',
    authority: 'store:80',
    protocol: 'HTTP/1.1',
    scheme: 'http',
    headers: {},
  }
  const answer: { readonly status: unknown; readonly headers: readonly (readonly string[])[] } = redirectAnswer(
    { status: 302, ...redirect },
    { ...request, ...sent },
    isForward,
  )
  const [header = [], ...others] = answer.headers
  expect([answer.status, header[0], others]).toEqual([302, 'location', []])
  return header[1] ?? ''
}

describe('redirects', () => {
  it.each<readonly [object, Sent, string]>([
    [{}, {}, 'http://store:80/a/b?c=d'],
    [{ host: 'example.com' }, {}, 'http://example.com/a/b?c=d'],
    [{ host: 'example.com', port: 81 }, {}, 'http://example.com:81/a/b?c=d'],
    [{ port: 81 }, {}, 'http://store:81/a/b?c=d'],
    [{ port: 81 }, { authority: 'store' }, 'http://store:81/a/b?c=d'],
    [{ port: 81 }, { authority: '[::1]:80' }, 'http://[::1]:81/a/b?c=d'],
    [{ port: 81 }, { authority: '[::1]' }, 'http://[::1]:81/a/b?c=d'],
    // The usual port of the scheme that was spoken goes with it, and no other does.
    [{ scheme: 'https' }, {}, 'https://store/a/b?c=d'],
    [{ scheme: 'https' }, { authority: 'store:81' }, 'https://store:81/a/b?c=d'],
    [{ scheme: 'http' }, {}, 'http://store:80/a/b?c=d'],
    [{ path: { full: '/x' } }, { query: '' }, 'http://store:80/x'],
    [{ path: { prefix: '/a', value: '' } }, {}, 'http://store:80/b?c=d'],
    // A proxy in front has spoken TLS.
    [{}, { headers: { 'x-forwarded-proto': 'https' } }, 'https://store:80/a/b?c=d'],
    [{}, { headers: { 'x-forwarded-proto': 'javascript' } }, 'http://store:80/a/b?c=d'],
    [{ scheme: 'http' }, { authority: 'store:443', headers: { 'x-forwarded-proto': 'https' } }, 'http://store/a/b?c=d'],
    [{}, { protocol: 'HTTP/2', scheme: 'https' }, 'https://store/a/b?c=d'],
  ])('%j of %j lead to %s', (redirect, sent, expected) => {
    expect(location(redirect, sent)).toBe(expected)
  })

  it('keep the scheme of a URL that a request names', () => {
    expect(location({}, { headers: { 'x-forwarded-proto': 'https' } }, true)).toBe('http://store:80/a/b?c=d')
  })
})

describe('routes', () => {
  it.each<readonly [object, boolean, boolean]>([
    [{}, false, false],
    [{ request: { remove: ['x'] } }, true, false],
    [{ rewrite: { host: 'x' } }, true, false],
    [{ redirect: { status: 302 } }, true, true],
    [{ response: { remove: ['x'] } }, true, true],
    [{ mirrors: [{ upstream: 'a', perMillion: 1 }] }, true, true],
    [{ shares: [{ status: 500, weight: 1 }] }, true, true],
    [{ shares: [{ upstream: 'a', weight: 1, request: { remove: ['x'] } }] }, true, true],
    [{ shares: [{ upstream: 'a', weight: 1, response: { remove: ['x'] } }] }, true, true],
  ])(
    'with %j: whether they change messages is %s, and whether requests take the strict way %s',
    (route, ...expected) => {
      const whole = { shares: [{ upstream: 'a', weight: 1 }], ...route }
      expect([changesMessages(whole), isStrictRoute(whole)]).toEqual(expected)
    },
  )
})

describe('conditions on the query', () => {
  const holds = (query: string, ...conditions: readonly object[]): boolean =>
    matchesRequest({ query: conditions }, { method: 'GET', path: '/', query, headers: {} }) as boolean
  const named = (name: string, exact: string): object => ({ name, match: { exact } })

  it.each([
    ['?a=1', true],
    ['?b=2&a=1', true],
    ['?a=1&a=2', true],
    ['?a=2&a=1', false],
    ['?a=1=', false],
    ['?A=1', false],
    ['?%61=1', false],
    ['?a=%31', false],
    ['?aa=1', false],
    ['?a', false],
    ['?', false],
    ['', false],
    ['?x?a=1', false],
  ])('look at the first value of a parameter as it is written: %s', (query, expected) => {
    expect(holds(query, named('a', '1'))).toBe(expected)
  })

  it('take a parameter without a value for an empty one, and need all of them', () => {
    expect(holds('?a', named('a', ''))).toBe(true)
    expect(holds('?a=&b=1', named('a', ''), named('b', '1'))).toBe(true)
    expect(holds('?a=', named('a', ''), named('b', '1'))).toBe(false)
  })

  it('find what was written, wherever it is', () => {
    const word = fc.stringMatching(/^[a-z%+.]{1,6}$/)
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word)), word, word, (others, name, value) => {
        const before = others.filter(([other]) => other !== name)
        const query = `?${[...before, [name, value], ...others].map((pair) => pair.join('=')).join('&')}`
        expect(holds(query, named(name, value))).toBe(true)
      }),
    )
  })
})
