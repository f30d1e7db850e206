import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { makeTurns, takeByHash, takeLeast, takeTurn } from '../../codebase/balance.js'
import { countAnswer, isOpen, makeBreaker } from '../../codebase/breaker.js'
import { makeBucket, takeToken } from '../../codebase/bucket.js'
import { hasName, mayCall, principalOf } from '../../codebase/callers.js'
import { escapeLabel, histogramLines } from '../../codebase/exposition.js'
import { closest, splitAuthority } from '../../codebase/hosts.js'
import { fillFields, fillLine } from '../../codebase/log-format.js'
import { headerValue, matchesRequest } from '../../codebase/match.js'
import { acceptedPath, hasEscapedSlash } from '../../codebase/path-rule.js'
import { answerParts, settleUpgrade } from '../../codebase/request.js'
import { backoff, isRetriable } from '../../codebase/retry.js'

const certificate = (commonName: string, ...subjectAltNames: readonly string[]) => ({
  subject: { commonName },
  subjectAltNames,
})

describe('callers', () => {
  it('are who their certificate names twice', () => {
    expect(principalOf(certificate('a.b.cluster.local', 'a.b.cluster.local', 'x'))).toBe('a.b.cluster.local')
    expect(principalOf(certificate('a.b.cluster.local', 'x'))).toBeUndefined()
    expect(principalOf(undefined)).toBeUndefined()
    expect(hasName(certificate('cn', 'gateway.edge'), ['gateway.edge'])).toBe(true)
    expect(hasName(certificate('cn', 'gateway.edge'), ['cn'])).toBe(false)
    expect(hasName(undefined, ['cn'])).toBe(false)
  })

  it('may call if they are in the list, or identities of the domain', () => {
    expect(mayCall({ names: ['a.b.d'] }, 'a.b.d')).toBe(true)
    expect(mayCall({ names: ['a.b.d'] }, 'a.b.dd')).toBe(false)
    expect(mayCall({ names: [] }, 'a.b.d')).toBe(false)
    expect(mayCall({ domain: 'd' }, 'a.b.d')).toBe(true)
    for (const name of ['b.d', '.b.d', '..d', 'd', 'a.b.xd', undefined])
      expect([name, mayCall({ domain: 'd' }, name)]).toEqual([name, false])
    expect(mayCall(undefined, 'a.b.d')).toBe(false)
    expect(mayCall({}, 'a.b.d')).toBe(false)
  })
})

describe('conditions', () => {
  const request = {
    method: 'GET',
    path: '/a',
    fullPath: '/a?b',
    authority: 'host:1',
    scheme: 'http',
    headers: { one: '1', cookie: ['a', 'b'], host: 'other' },
  }

  it('see headers, pseudo headers, and one value where there are several', () => {
    expect(
      ['one', 'cookie', ':method', ':path', ':authority', 'host', ':scheme', 'none'].map(
        (name) => headerValue(name, request) as unknown,
      ),
    ).toEqual(['1', 'a,b', 'GET', '/a?b', 'host:1', 'host:1', 'http', undefined])
  })

  it('must all hold; a missing header fulfils nothing but its absence', () => {
    const header = (name: string, match: object, invert?: true) => ({
      headers: [{ name, match, ...(invert === undefined ? {} : { invert }) }],
    })
    expect(matchesRequest({}, request)).toBe(true)
    expect(matchesRequest({ path: { prefix: '/a' }, methods: ['POST'] }, request)).toBe(false)
    expect(matchesRequest(header('one', { exact: '1' }), request)).toBe(true)
    expect(matchesRequest(header('one', { exact: '1' }, true), request)).toBe(false)
    expect(matchesRequest(header('none', { exact: '1' }, true), request)).toBe(false)
    expect(matchesRequest(header('none', { present: true }), request)).toBe(false)
    expect(matchesRequest(header('constructor', { present: true }), request)).toBe(false)
    expect(matchesRequest(header('none', { present: true }, true), request)).toBe(true)
    expect(matchesRequest({ path: { glob: '*' } }, request)).toBe(false)
  })
})

describe('formats of the access log', () => {
  const entry = {
    since: 0,
    ended: 30,
    read: 5,
    answered: 20,
    received: 1,
    sent: 0,
    host: 'pod',
    id: 'route',
    source: '10.0.0.1',
    sourcePort: 7,
    local: '[::1]:80',
    attempts: 2,
    head: { status: 200, headers: { two: ['a', 'b'] } },
    request: { method: 'GET', path: '/a', fullPath: '/a?secret', authority: 'h', headers: { one: '12345' } },
  }
  const filled = (command: string, extra: object = {}) =>
    (fillFields([{ key: 'x', line: [{ command, ...extra }] }], entry) as { readonly x: unknown }).x

  it('say what is known, numbers as such, and nothing of queries', () => {
    const commands = ['START_TIME', 'DURATION', 'REQUEST_DURATION', 'RESPONSE_DURATION', 'RESPONSE_TX_DURATION']
    expect(commands.map((command) => filled(command))).toEqual(['1970-01-01T00:00:00.000Z', 30, 5, 20, 10])
    expect(['BYTES_SENT', 'RESPONSE_CODE', 'RESPONSE_FLAGS', 'NONE'].map((each) => filled(each))).toEqual([
      0,
      200,
      null,
      null,
    ])
    expect(['DOWNSTREAM_REMOTE_ADDRESS', 'DOWNSTREAM_LOCAL_PORT'].map((each) => filled(each))).toEqual([
      '10.0.0.1:7',
      80,
    ])
    expect(filled('DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT')).toBe('[::1]')
    expect(filled('REQ', { header: ':path' })).toBe('/a')
    expect(filled('REQ', { header: 'none', otherwise: 'one', limit: 3 })).toBe('123')
    expect(filled('RESP', { header: 'two' })).toBe('a,b')
  })

  it('are lines, and objects in objects', () => {
    expect(fillLine(['a ', { command: 'BYTES_SENT' }, ' ', { command: 'RESPONSE_FLAGS' }], entry)).toBe('a 0 -')
    expect(fillFields([{ key: 'x', fields: [{ key: 'y', line: ['a', { command: 'NONE' }] }] }], entry)).toEqual({
      x: { y: 'a-' },
    })
  })
})

describe('the path rule', () => {
  it.each([
    ['/', '/', ''],
    ['/a//b///c?d=//..', '/a/b/c', '?d=//..'],
    ['/..a/.b/c..', '/..a/.b/c..', ''],
    ['/%C3%A9/%e2%82%ac/%F0%9F%98%80', '/%C3%A9/%e2%82%ac/%F0%9F%98%80', ''],
  ])('takes %s', (text, path, query) => {
    expect(acceptedPath(text)).toEqual({ path, query, readings: [] })
  })

  it.each([
    '//',
    '/.',
    '/..',
    '/a/../b',
    '/a/./b',
    '/%2e',
    '/a/%2E%2e/b',
    '/..;a=b',
    '/a/.%3bx',
    '/a%2fb',
    '/a%5Cb',
    '/a\\b',
    '/a%00',
    '/a#b',
    '/a\u0000',
    '/%',
    '/%4',
    '/%zz',
    '/%80',
    '/%c3',
    '/%c3a',
    '/%e0%80%80',
    '/%ed%a0%80',
    '/%f5%80%80%80',
    'a',
    '*',
    '',
    '/a b',
    '/\ufffd',
    '/a?\u0000',
  ])('refuses %j', (text) => {
    expect(acceptedPath(text)).toBeUndefined()
  })

  it.each([
    ['/a%2Fb?c%2f', '/a%2Fb', '?c%2f', ['/a/b', '/a/b']],
    ['//a/%2f/b%5C', '/a/%2f/b%5C', '', ['/a///b/', '/a/b/']],
  ])('keeps the escaped slashes of %s where it is told to', (text, path, query, readings) => {
    expect(acceptedPath(text, true)).toEqual({ path, query, readings })
    expect([acceptedPath(text), hasEscapedSlash(text), hasEscapedSlash('/a?%2f')]).toEqual([undefined, true, false])
  })

  it.each(['/a/..%2fb', '/a%2f..', '/a%2f%2e%2E%5cb', '/a%5c..;x/b', '/a%2f.%3bx', '/a%2f%00', '/a%2f\\'])(
    'refuses %s even where escaped slashes are kept',
    (text) => {
      expect(acceptedPath(text, true)).toBeUndefined()
    },
  )

  it('takes what encodeURI makes, and leaves it as it is', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 })), (segments) => {
        const safe = segments
          .map((each) => encodeURIComponent(each))
          .filter((each) => !/^\.{1,2}$|%2f|%5c|%00/i.test(each))
        const path = `/${safe.join('/')}`
        expect(acceptedPath(path)).toEqual({ path, query: '', readings: [] })
      }),
    )
  })
})

describe('hosts', () => {
  it('are told from ports', () => {
    expect(splitAuthority('Shop.Demo:8080')).toEqual({ host: 'shop.demo', port: 8080 })
    expect(splitAuthority('[::1]:80')).toEqual({ host: '[::1]', port: 80 })
    expect(splitAuthority('[::1]')).toEqual({ host: '[::1]', port: undefined })
    expect(splitAuthority('a')).toEqual({ host: 'a', port: undefined })
    expect(splitAuthority('A.b.:80')).toEqual({ host: 'a.b', port: 80 })
    expect(splitAuthority('a.b.')).toEqual({ host: 'a.b', port: undefined })
    for (const text of ['a:', 'a:0', 'a:x', 'a:99999', 'a:1:2'])
      expect(splitAuthority(text)).toMatchObject({ port: Number.NaN })
  })

  it('are found by the closest pattern', () => {
    const list = [['*'], ['*.b'], ['*.a.b'], ['x.a.b']].map((hosts) => ({ hosts }))
    const find = (host: string) =>
      (closest(list, (each: { hosts: string[] }) => each.hosts, host) as { hosts: string[] } | undefined)?.hosts[0]
    expect(['x.a.b', 'y.a.b', 'a.b', 'b', 'c'].map(find)).toEqual(['x.a.b', '*.a.b', '*.b', '*', '*'])
    expect(closest([{ hosts: ['*.b'] }], (each: { hosts: string[] }) => each.hosts, '.b')).toBeUndefined()
  })
})

describe('balancing', () => {
  // Scripts have no types.
  const addressOf = (found: unknown): string => (found as { address: string }).address

  it('takes turns by weight, evenly', () => {
    const turns = makeTurns([
      { address: 'a', weight: 3 },
      { address: 'b', weight: 1 },
    ])
    const taken = Array.from({ length: 8 }, () => addressOf(takeTurn(turns)))
    expect(taken.join('')).toBe('aabaaaba')
    expect(addressOf(takeTurn(turns, ({ address }: { address: string }) => address === 'b'))).toBe('b')
    expect(takeTurn(turns, () => false)).toBeUndefined()
    expect(takeTurn([])).toBeUndefined()
  })

  it('keeps to an endpoint by hash, and moves no one else when one is gone', () => {
    const all = ['a', 'b', 'c'].map((address) => ({ address, weight: 1 }))
    const at = (text: string, list = all) => addressOf(takeByHash(list, text))
    const callers = Array.from({ length: 300 }, (_, i) => `10.0.0.${i}`)
    for (const { address } of all) expect(callers.filter((caller) => at(caller) === address).length).toBeGreaterThan(50)
    for (const caller of callers.filter((each) => at(each) !== 'c'))
      expect(at(caller, all.slice(0, 2))).toBe(at(caller))
  })

  it('hashes by weight, and whatever part of addresses differs', () => {
    for (const [one, two] of [
      ['10.0.0.1:80', '10.0.0.2:80'],
      ['127.0.0.1:8001', '127.0.0.1:8002'],
    ] as const) {
      const pair = [
        { address: one, weight: 3 },
        { address: two, weight: 1 },
      ]
      const callers = Array.from({ length: 1000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
      const first = callers.filter((caller) => addressOf(takeByHash(pair, caller)) === one).length
      expect(first).toBeGreaterThan(700)
      expect(first).toBeLessThan(800)
    }
  })

  it('takes turns among those that have the least to do for their weight', () => {
    const turns = makeTurns([
      { address: 'a', weight: 1 },
      { address: 'b', weight: 1 },
      { address: 'c', weight: 4 },
    ])
    const loads: Record<string, number> = { a: 1, b: 1, c: 4 }
    const loadOf = ({ address }: { address: string }) => loads[address] ?? 0
    const take = (fits?: (element: { address: string }) => boolean) => addressOf(takeLeast(turns, loadOf, fits))
    expect(
      Array.from({ length: 6 }, () => take())
        .sort()
        .join(''),
    ).toBe('abcccc')
    loads['c'] = 5
    expect([take(), take()].sort()).toEqual(['a', 'b'])
    expect(take(({ address }) => address === 'c')).toBe('c')
    expect(takeLeast(turns, loadOf, () => false)).toBeUndefined()
  })
})

describe('buckets', () => {
  it('hold tokens and burst, and are filled by intervals', () => {
    const bucket = makeBucket({ tokens: 2, intervalMs: 1000, burst: 1 }, 0)
    expect([0, 0, 0, 0, 999, 1000, 1000, 1000, 5000].map((now) => takeToken(bucket, now))).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
      true,
      false,
      true,
    ])
  })
})

describe('statistical breakers', () => {
  const settings = { windowMs: 1000, minRequests: 2, openMs: 500, errorRatio: 0.5, slowMs: 100, slowAmount: 3 }

  it('open by a share of errors and close again, counting from the start', () => {
    const breaker = makeBreaker(settings, 0)
    countAnswer(breaker, 0, true, 1, 10)
    expect(isOpen(breaker, 20)).toBe(false)
    countAnswer(breaker, 0, false, 1, 20)
    expect(isOpen(breaker, 30)).toBe(true)
    expect(isOpen(breaker, 519)).toBe(true)
    expect(isOpen(breaker, 520)).toBe(false)
    // A request from before it opened.
    countAnswer(breaker, 0, true, 1, 530)
    countAnswer(breaker, 1, true, 1, 540)
    expect(isOpen(breaker, 550)).toBe(false)
    countAnswer(breaker, 1, true, 1, 560)
    expect(isOpen(breaker, 570)).toBe(true)
  })

  it('count slow answers, and forget with each window', () => {
    const breaker = makeBreaker(settings, 0)
    for (const now of [1, 2, 1500, 1600]) countAnswer(breaker, 0, false, 100, now)
    expect(isOpen(breaker, 1600)).toBe(false)
    countAnswer(breaker, 0, false, 100, 1700)
    expect(isOpen(breaker, 1700)).toBe(true)
  })
})

describe('retries', () => {
  const answer = (status: number, local?: string, grpcStatus?: number) => ({ status, local, grpcStatus })

  it.each([
    ['5xx', answer(500), true],
    ['5xx', answer(503, 'reset'), true],
    ['5xx', answer(404), false],
    ['gateway-error', answer(500), false],
    ['gateway-error', answer(504), true],
    ['connect-failure', answer(503, 'connect'), true],
    ['connect-failure', answer(503), false],
    ['reset', answer(503, 'reset'), true],
    ['reset', answer(504, 'timeout'), true],
    ['gateway-error', answer(504, 'timeout'), true],
    ['connect-failure', answer(504, 'timeout'), false],
    ['5xx', answer(503, 'overflow'), false],
    ['409', answer(409), true],
    ['503', answer(503, 'connect'), false],
    ['retriable-4xx', answer(409), true],
    ['unavailable', answer(200, undefined, 14), true],
    ['unavailable', answer(200, undefined, 13), false],
    ['no-such-word', answer(500), false],
  ])('on %s of %j: %s', (condition, given, expected) => {
    expect(isRetriable([condition], given)).toBe(expected)
  })

  it('wait up to a time that doubles, ten times the base at most', () => {
    expect([0, 1, 2, 10].map((attempt) => backoff(25, attempt, 0.999))).toEqual([24, 49, 99, 249])
    expect(backoff(25, 3, 0)).toBe(0)
  })
})

describe('answers of the sidecar', () => {
  it('are those of HTTP, or of gRPC for its callers', () => {
    expect(answerParts({ status: 403, body: 'no' }, false)).toEqual({
      head: { status: 403, headers: { 'content-type': 'text/plain' } },
      body: 'no',
    })
    expect(answerParts({ status: 403, body: 'no' }, true)).toEqual({
      head: { status: 200, headers: { 'content-type': 'application/grpc', 'grpc-status': '7', 'grpc-message': 'no' } },
      body: '',
    })
    expect(answerParts({ status: 204, body: 'x' }, false).body).toBe('')
    expect(answerParts({ status: 429, headers: [['retry-after', '1']] }, false).head.headers).toEqual({
      'retry-after': '1',
    })
  })

  it('let connections change to WebSockets and nothing else', () => {
    const settled = (headers: Record<string, string>) => {
      settleUpgrade(headers)
      return headers
    }
    expect(settled({ upgrade: 'WebSocket' })).toEqual({ upgrade: 'websocket', connection: 'upgrade' })
    expect(settled({ upgrade: 'h2c', 'http2-settings': 'x', a: 'b' })).toEqual({ a: 'b' })
  })
})

describe('metrics', () => {
  it('are text of Prometheus', () => {
    expect(escapeLabel('a"b\\c\nd')).toBe('a\\"b\\\\c\\nd')
    expect(histogramLines('m', 'a="b"', [1, 5], { buckets: { 5: 2 }, sum: 9, count: 3 })).toEqual([
      'm_bucket{a="b",le="1"} 0',
      'm_bucket{a="b",le="5"} 2',
      'm_bucket{a="b",le="+Inf"} 3',
      'm_sum{a="b"} 9',
      'm_count{a="b"} 3',
    ])
  })
})
